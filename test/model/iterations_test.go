// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !stress

package model_test

const scopedPrograms = 2500 // of TestScopesFollowModel
