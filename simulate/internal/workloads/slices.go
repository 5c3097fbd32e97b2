// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

// where returns the items for which is returns true.
func where[T any](items []T, is func(T) bool) []T {
	var found []T
	for _, item := range items {
		if is(item) {
			found = append(found, item)
		}
	}
	return found
}

// count returns the number of items for which is returns true.
func count[T any](items []T, is func(T) bool) int32 { return int32(len(where(items, is))) }

// without returns the items of a list that are not equal to item.
func without(items []string, item string) []string {
	return where(items, func(other string) bool { return other != item })
}
