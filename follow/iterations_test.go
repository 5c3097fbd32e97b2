// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !stress

package follow_test

const (
	churnRounds     = 35
	manyDefinitions = 100
)
