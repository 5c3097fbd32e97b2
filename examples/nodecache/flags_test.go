// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kinformer/kinformer/internal/terminal/terminaltest"
)

func TestParseFlagsReturnsOptions(t *testing.T) {
	for line, want := range map[string]options{
		"":                               {nodes: 20, seed: 1},
		"--nodes 3 --seed 9":             {nodes: 3, seed: 9},
		"--debug-addr :8080":             {nodes: 20, seed: 1, debugAddr: ":8080"},
		"-once":                          {nodes: 20, seed: 1, once: true},
		"--cluster --duration 1m30s":     {nodes: 20, seed: 1, cluster: true, duration: 90 * time.Second},
		"--kubeconfig=f":                 {nodes: 20, seed: 1, cluster: true, kubeconfig: "f"},
		"--context c --kubeconfig f":     {nodes: 20, seed: 1, cluster: true, kubeconfig: "f", context: "c"},
		"--cluster=false --context here": {nodes: 20, seed: 1, cluster: true, context: "here"},
	} {
		got, err := parseFlags(strings.Fields(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(options{})); diff != "" {
			t.Errorf("%s: -want +got\n%s", line, diff)
		}
	}
	if _, err := parseFlags([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}

func TestInvalidFlagsAreRejected(t *testing.T) {
	for line, want := range map[string]string{
		"--frob":                     "flag provided but not defined: -frob",
		"--duration soon":            `invalid value "soon" for flag -duration: parse error`,
		"--seed -1":                  `invalid value "-1" for flag -seed: parse error`,
		"once more":                  `unexpected argument "once more"`,
		"--nodes 0":                  "--nodes must be between 1 and 50000, not 0",
		"--nodes 50001":              "--nodes must be between 1 and 50000, not 50001",
		"--duration 0s":              "--duration must be positive, not 0s",
		"--duration -5s --nodes -1":  "--nodes must be between 1 and 50000, not -1; --duration must be positive, not -5s",
		"--once --duration 5s":       "--once cannot be combined with --duration",
		"--once --debug-addr :1":     "--once cannot be combined with --debug-addr",
		"--debug-addr=":              "--debug-addr requires an address",
		"--kubeconfig=":              "--kubeconfig requires a file name",
		"--context=":                 "--context requires a context name",
		"--cluster --nodes 20":       "--nodes applies only to the simulated cluster",
		"--kubeconfig=f --seed 1":    "--seed applies only to the simulated cluster",
		"--context c --nodes 9 junk": `unexpected argument "junk"; --nodes applies only to the simulated cluster`,
	} {
		out := terminaltest.NewOutput()
		code, stderr := runAsync(t.Context(), out, strings.Fields(line)...)(t)
		if want := "nodecache: " + want + "; see --help\n"; code != 2 || stderr != want || out.String() != "" {
			t.Errorf("%s: got exit code %d, stdout %q, stderr\n%swant\n%s", line, code, out, stderr, want)
		}
	}
}

func TestHelpDescribesAllFlags(t *testing.T) {
	out := terminaltest.NewOutput()
	code, stderr := runAsync(t.Context(), out, "--help")(t)
	if code != 0 || stderr != "" || out.String() != usage {
		t.Errorf("got exit code %d, stderr %q, stdout\n%s", code, stderr, out)
	}
	for name := range strings.FieldsSeq("nodes seed cluster kubeconfig context once duration debug-addr") {
		if !strings.Contains(usage, "  --"+name+" ") {
			t.Errorf("usage does not describe --%s", name)
		}
	}
}
