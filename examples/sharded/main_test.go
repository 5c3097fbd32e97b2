// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kinformer/kinformer/examples/internal/program"
	"github.com/kinformer/kinformer/examples/internal/terminal"
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

func TestTableFitsTerminalOf80Columns(t *testing.T) {
	now := time.Now()
	shown := table{configMaps: 10_000, now: now, statuses: []status{{
		name: "a", state: running, since: now.Add(-10*time.Minute + time.Second), alive: true,
		report: report{Incarnation: "a_OEHH7HMM", Objects: 9999, Received: 999e6, OutOfScope: 99_999, Stamped: 99_999, Conflicts: 99_999},
	}}}
	for line := range strings.Lines(terminal.Text("", shown.state())) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

func TestInvalidFlags(t *testing.T) {
	for _, flag := range []string{"-configmaps=0", "-changes=0"} {
		if err := runReplicas([]string{flag}); err == nil {
			t.Errorf("%s: no error", flag)
		}
	}
}
