// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !stress

package wire_test

// listSizes are the numbers of random items in the lists of every kind.
var listSizes = []int{0, 3}

// listBuffers returns the initial buffer sizes with which a reader of these lists is tested.
func listBuffers(reader string) []int {
	if reader == "whole" {
		return []int{16, 1 << 14}
	}
	return []int{16}
}
