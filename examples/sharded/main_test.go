// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	"github.com/kinformer/kinformer/examples/internal/program"
)

// TestMain runs the tests, or a replica that they have started.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "replica" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestProgram runs the program until each replica holds some ConfigMaps, and all of them together.
func TestProgram(t *testing.T) {
	p := program.Start(t, "-configmaps=100", "-for=12s")
	p.Expect("  a_", "running")
	p.Expect("  b_", "running")
	p.Expect("  c_", "running")
	p.Wait()
}

func TestInvalidFlags(t *testing.T) {
	for _, flag := range []string{"-configmaps=0", "-changes=0"} {
		if err := runReplicas([]string{flag}); err == nil {
			t.Errorf("%s: no error", flag)
		}
	}
}
