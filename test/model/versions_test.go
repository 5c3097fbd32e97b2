// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"flag"
	"math/big"
	"strconv"
	"testing"
)

var largeVersions = flag.Bool("model.large", true, "some programs have versions of 2^63 and more")

// versionBases are what is added to the versions of a program. The sums soon exceed 2^63, and have
// 20 and 26 digits: versions are numbers of any length (KEP-5504).
var versionBases = []string{"9223372036854775798", "9999999999999999989", "9999999999999999999999989"}

// versionBase is what is added to the versions of the program that runs: programs run one after the
// other. The model counts from one.
var versionBase big.Int

// useVersionBase sets the versionBase of a program and returns a function that resets it.
func useVersionBase(base string) (reset func()) {
	if base != "" {
		if _, ok := versionBase.SetString(base, 10); !ok {
			panic("no number: " + base)
		}
	}
	return func() { versionBase.SetUint64(0) }
}

// formatVersion returns the text of a version as the informer receives it.
func formatVersion(v uint64) string {
	if versionBase.Sign() == 0 {
		return strconv.FormatUint(v, 10)
	}
	sum := new(big.Int).SetUint64(v)
	return sum.Add(sum, &versionBase).String()
}

// parseVersion is the inverse of formatVersion. It returns 0 for an empty version, for the version
// 0 of a request, and for others that no server of the program has.
func parseVersion(text string) uint64 {
	if versionBase.Sign() == 0 {
		n, _ := strconv.ParseUint(text, 10, 64)
		return n
	}
	sum, ok := new(big.Int).SetString(text, 10)
	if !ok || sum.Cmp(&versionBase) < 0 {
		return 0
	}
	return sum.Sub(sum, &versionBase).Uint64()
}

func TestVersionsOfAnyLength(t *testing.T) {
	for _, test := range []struct {
		base, text string
		version    uint64
	}{
		{"", "17", 17},
		{"", "", 0},
		{versionBases[0], "9223372036854775808", 10},
		{versionBases[1], "10000000000000000000", 11},
		{versionBases[2], "10000000000000000000000000", 11},
	} {
		reset := useVersionBase(test.base)
		if got := parseVersion(test.text); got != test.version {
			t.Errorf("%q is %d, want %d", test.text, got, test.version)
		}
		if got := formatVersion(test.version); test.text != "" && got != test.text {
			t.Errorf("%d is %q, want %q", test.version, got, test.text)
		}
		if got := parseVersion("0"); got != 0 {
			t.Errorf("the version 0 is %d", got)
		}
		reset()
	}
}
