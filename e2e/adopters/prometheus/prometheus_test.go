package prometheus

import (
	"os/exec"
	"slices"
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

// TestDiscoveryPassesItsOwnTests runs prometheus' tests of its discovery, unmodified. The same tests
// pass as with client-go.
func TestDiscoveryPassesItsOwnTests(t *testing.T) {
	t.Parallel()
	variants := []Variant{ClientGo(), Adopted(), Packed()}
	passed := make([][]string, len(variants))
	t.Run("run", func(t *testing.T) {
		for i, v := range variants {
			t.Run(v.Name, func(t *testing.T) {
				t.Parallel()
				passed[i] = ownTests(t, v)
			})
		}
	})
	if len(passed[0]) == 0 {
		t.Fatal("no test passes with client-go")
	}
	for i, v := range variants {
		for _, name := range passed[0] {
			if !slices.Contains(passed[i], name) {
				t.Errorf("%s: %s passes with client-go only", v.Name, name)
			}
		}
		t.Logf("%s: %d tests and subtests pass", v.Name, len(passed[i]))
	}
}

// ownTests returns the names of the discovery's own tests that pass for a variant.
func ownTests(t *testing.T, v Variant) (passed []string) {
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
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "--- PASS: "); ok {
			passed = append(passed, strings.Fields(name)[0])
		}
	}
	return passed
}
