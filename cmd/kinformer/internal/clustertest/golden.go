// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clustertest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the golden files in testdata") //nolint:gochecknoglobals // a flag of the tests

// ExpectGolden compares text with a file in testdata.
func ExpectGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil { //nolint:gosec // as the other files
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// ExpectHelp checks that a help has all flags, and no line that is too long.
func ExpectHelp(t *testing.T, help string, flags *pflag.FlagSet) {
	t.Helper()
	flags.VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(help, "--"+f.Name) {
			t.Errorf("the help has no --%s", f.Name)
		}
		if f.Shorthand != "" && !strings.Contains(help, "-"+f.Shorthand+", --"+f.Name) {
			t.Errorf("the help has no -%s", f.Shorthand)
		}
	})
	for line := range strings.Lines(help) {
		if len(line) > 121 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}
