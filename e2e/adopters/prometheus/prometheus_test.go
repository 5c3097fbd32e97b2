// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	"os/exec"
	"strings"
	"testing"
)

// TestAdoptedDiscoveryChangesOnlyImports checks that the adopted discovery differs from prometheus'
// in the import of each file that uses informers, and in nothing else.
func TestAdoptedDiscoveryChangesOnlyImports(t *testing.T) {
	t.Parallel()
	discovery, err := packageFiles(t.Context(), original)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, name := range discovery.GoFiles {
		before, after, err := discovery.edit(name, Adopted().apply)
		if err != nil {
			t.Fatal(err)
		}
		var diff Diff
		if diff.add(before, after); diff != (Diff{}) && diff != (Diff{Added: 1, Removed: 1}) {
			t.Errorf("%s: %v lines, want one line changed", name, diff)
		}
		changed += diff.Added
	}
	if changed == 0 {
		t.Error("no file changed")
	}
}

// TestDiscoveryPassesItsOwnTests runs prometheus' tests of its discovery, unmodified.
func TestDiscoveryPassesItsOwnTests(t *testing.T) {
	t.Parallel()
	for _, v := range []Variant{Adopted(), Packed(), Partial()} {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			passed := ownTests(t, v)
			if passed == 0 {
				t.Error("no test has run")
			}
			t.Logf("%d tests and subtests pass", passed)
		})
	}
}

// ownTests runs the discovery's own tests for a variant, all of which must pass. It returns their
// number.
func ownTests(t *testing.T, v Variant) (passed int) {
	t.Helper()
	discovery, err := packageFiles(t.Context(), original)
	if err != nil {
		t.Fatal(err)
	}
	program, err := BuildTest(t.Context(), v, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, "-test.v", "-test.timeout=3m")
	command.Dir = discovery.Dir
	out, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return strings.Count(string(out), "--- PASS: ")
}
