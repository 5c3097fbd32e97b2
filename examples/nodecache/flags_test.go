package main

import (
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseFlags(t *testing.T) {
	for line, want := range map[string]options{
		"":                               {nodes: 20, seed: 1},
		"--nodes 3 --seed 9":             {nodes: 3, seed: 9},
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

func TestFlagsThatMakeNoSense(t *testing.T) {
	for line, want := range map[string]string{
		"--frob":                     "flag provided but not defined: -frob",
		"--duration soon":            `invalid value "soon" for flag -duration: parse error`,
		"--seed -1":                  `invalid value "-1" for flag -seed: parse error`,
		"once more":                  `"once more" is not a flag`,
		"--nodes 0":                  "--nodes must be from 1 to 50000, not 0",
		"--nodes 50001":              "--nodes must be from 1 to 50000, not 50001",
		"--duration 0s":              "--duration must be more than zero, not 0s",
		"--duration -5s --nodes -1":  "--nodes must be from 1 to 50000, not -1; --duration must be more than zero, not -5s",
		"--once --duration 5s":       "--once ends by itself and takes no --duration",
		"--kubeconfig=":              "--kubeconfig needs the name of a file",
		"--context=":                 "--context needs the name of a context",
		"--cluster --nodes 20":       "--nodes is about the simulated cluster, not about a real one",
		"--kubeconfig=f --seed 1":    "--seed is about the simulated cluster, not about a real one",
		"--context c --nodes 9 junk": `"junk" is not a flag; --nodes is about the simulated cluster, not about a real one`,
	} {
		out := newScreenText()
		code, stderr := runAsync(t.Context(), out, strings.Fields(line)...)(t)
		if want := "nodecache: " + want + "; see --help\n"; code != 2 || stderr != want || out.String() != "" {
			t.Errorf("%s: exit code %d, stdout %q, stderr\n%swant\n%s", line, code, out, stderr, want)
		}
	}
}

func TestHelp(t *testing.T) {
	out := newScreenText()
	code, stderr := runAsync(t.Context(), out, "--help")(t)
	if code != 0 || stderr != "" || out.String() != usage {
		t.Errorf("exit code %d, stderr %q, stdout\n%s", code, stderr, out)
	}
	for name := range strings.FieldsSeq("nodes seed cluster kubeconfig context once duration") {
		if !strings.Contains(usage, "  --"+name+" ") {
			t.Errorf("--%s is not explained", name)
		}
	}
}
