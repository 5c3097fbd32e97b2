// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build stress

package faults_test

func sampled(int) bool { return true }
