// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package gomod

import (
	"runtime/debug"
	"strings"
	"testing"
)

// TestOnlyReleasesAndCommitsCanBeRequired checks which versions the module proxy may have.
func TestOnlyReleasesAndCommitsCanBeRequired(t *testing.T) {
	for version, want := range map[string]bool{
		"": false, "(devel)": false, "v1.2.0": true, "v0.0.0-20261126051038-c38d5b2a0f3e": true,
		"v1.2.0+dirty": false, "v0.0.0-20261126051038-c38d5b2a0f3e+dirty": false,
	} {
		got, err := versionOf(debug.Module{Path: Kinformer, Version: version})
		if (err == nil) != want || want && got != version || !want && !strings.Contains(err.Error(), "--kinformer=DIR") {
			t.Errorf("%q: version %q, error %v", version, got, err)
		}
	}
}

func TestVersionsAreCompared(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{{"", "v0.1.0", false}, {"v0.1.0", "v0.2.0", true}, {"v0.2.0", "v0.1.0", false}, {"v0.2.0", "v0.2.0-rc.1", false}, {"v0.9.0", "v0.10.0", true}} {
		if got := IsOlder(test.a, test.b); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}
