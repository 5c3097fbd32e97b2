// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package units formats numbers and sizes for people.
package units

import (
	"strconv"
	"strings"
)

// Count formats a whole number with a comma between groups of three digits. A negative one is 0.
func Count[N int | int64 | uint64](n N) string {
	digits := strconv.FormatUint(uint64(max(n, 0)), 10)
	var text strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			text.WriteByte(',')
		}
		text.WriteRune(digit)
	}
	return text.String()
}

// Plural formats a number of things.
func Plural[N int | int64 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Bytes formats a size in decimal units with three significant digits.
func Bytes[N int64 | uint64](n N) string {
	names := []string{"B", "kB", "MB", "GB", "TB"}
	size, unit := float64(n), 0
	for size >= 999.5 && unit < len(names)-1 {
		size, unit = size/1000, unit+1
	}
	if unit == 0 {
		return strconv.FormatFloat(size, 'f', 0, 64) + " B"
	}
	return Digits(size) + " " + names[unit]
}

// Digits formats a number with three significant digits, or all those before the point.
func Digits(f float64) string {
	switch {
	case f >= 99.95:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case f >= 9.995:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}
