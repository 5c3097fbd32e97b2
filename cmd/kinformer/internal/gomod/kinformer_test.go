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
	other := &debug.Module{Path: Kinformer + "/simulate/simulatecr", Version: "v1.0.0"}
	for _, test := range []struct {
		modules []*debug.Module
		want    string
	}{
		{nil, ""},
		{[]*debug.Module{other}, ""},
		{[]*debug.Module{other, {Path: Kinformer}}, ""},
		{[]*debug.Module{other, {Path: Kinformer, Version: "(devel)"}}, ""},
		{[]*debug.Module{other, {Path: Kinformer, Version: "v1.2.0", Replace: &debug.Module{Path: "../.."}}}, ""},
		{[]*debug.Module{other, {Path: Kinformer, Version: "v1.2.0"}}, "v1.2.0"},
		{[]*debug.Module{other, {Path: Kinformer, Version: "v0.0.0-20261126051038-c38d5b2a0f3e"}}, "v0.0.0-20261126051038-c38d5b2a0f3e"},
	} {
		got, err := versionIn(test.modules)
		if got != test.want || (err == nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), "--kinformer=DIR") {
			t.Errorf("%+v: version %q, error %v", test.modules, got, err)
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
