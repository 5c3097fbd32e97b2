// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package units_test

import (
	"testing"

	"github.com/kinformer/kinformer/internal/units"
)

func TestNumbersAreFormatted(t *testing.T) {
	for got, want := range map[string]string{
		units.Count(0):                        "0",
		units.Count(-3):                       "0",
		units.Count(999):                      "999",
		units.Count(1000):                     "1,000",
		units.Count(uint64(12_345_678)):       "12,345,678",
		units.Plural(0, "pod"):                "0 pods",
		units.Plural(1, "pod"):                "1 pod",
		units.Plural(int64(1_234_567), "pod"): "1,234,567 pods",
		units.Digits(99.94):                   "99.9",
		units.Digits(99.96):                   "100",
		units.Digits(9.994):                   "9.99",
		units.Digits(9.996):                   "10.0",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSizesHaveThreeDigits(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 B", 999: "999 B", 1000: "1.00 kB", 9_994: "9.99 kB", 9_996: "10.0 kB", 99_960: "100 kB", 123_456: "123 kB",
		999_499: "999 kB", 999_500: "1.00 MB", 1_000_000_000: "1.00 GB", 12_345_678_901: "12.3 GB", 5_000_000_000_000_000: "5000 TB",
	} {
		if got := units.Bytes(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
