// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build stress

package wire_test

var listSizes = []int{0, 1, 4, 50}

func listBuffers(string) []int { return []int{16, 1 << 10, 1 << 16} }
