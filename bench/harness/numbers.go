// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

var nan = math.NaN() //nolint:gochecknoglobals // Go has no constant for it

// Median returns the median of the figures, or NaN if there are none.
func Median(figures []float64) float64 {
	if len(figures) == 0 {
		return nan
	}
	sorted := slices.Sorted(slices.Values(figures))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// number formats a figure with three significant digits and thousands separators.
func number(f float64) string {
	switch size := math.Abs(f); {
	case math.IsNaN(f):
		return "–"
	case math.IsInf(f, 1): // a ratio to zero
		return "∞"
	case size >= 100:
		return thousands(strconv.FormatFloat(f, 'f', 0, 64))
	case size == math.Trunc(size):
		return strconv.FormatFloat(f, 'f', 0, 64)
	case size >= 10:
		return strconv.FormatFloat(f, 'f', 1, 64)
	case size >= 1:
		return strconv.FormatFloat(f, 'f', 2, 64)
	default:
		return strconv.FormatFloat(f, 'g', 3, 64)
	}
}

func thousands(digits string) string {
	var b strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// spread formats the median and, of several figures, the minimum and the maximum.
func spread(figures []float64) string {
	median := Median(figures)
	if math.IsNaN(median) || len(figures) < 2 {
		return number(median)
	}
	return number(median) + " (" + number(slices.Min(figures)) + "–" + number(slices.Max(figures)) + ")"
}
