// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulated

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/simulate"
)

// A run of an operator takes longer than one of a small program: 50 are the default.
func init() {
	if os.Getenv("SIMULATE_RUNS") == "" {
		if err := flag.Set("simulate.runs", "50"); err != nil {
			panic(err) // package simulate has the flag
		}
	}
}

// inner is the environment variable of the process in which Finds runs the simulation.
const inner = "SIMULATED_INNER"

// Finds requires that a simulation fails with all texts in its report. The simulation runs in a
// process of its own.
func Finds(t *testing.T, test simulate.Test, texts ...string) {
	t.Helper()
	fails(t, func() { simulate.Run(t, test) }, texts)
}

// FailsWith is Finds for one run, of a program that another fault makes depend on the order of
// events: a simulation would find that first.
func FailsWith(t *testing.T, test simulate.Test, disturbance simulate.Disturbance, texts ...string) {
	t.Helper()
	fails(t, func() { simulate.Replay(t, test, 0, disturbance) }, texts)
}

func fails(t *testing.T, run func(), texts []string) {
	t.Helper()
	if os.Getenv(inner) != "" {
		run()
		return
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-simulate.runs", "300")
	command.Env = append(os.Environ(), inner+"=1")
	output, err := command.CombinedOutput()
	if err == nil {
		t.Fatalf("the simulation has not failed\n%s", output)
	}
	for _, text := range texts {
		if !strings.Contains(string(output), text) {
			t.Errorf("%q is not in the report\n%s", text, output)
		}
	}
}
