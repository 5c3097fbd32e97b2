// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/clustertest"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
)

// execute runs the command and returns its exit code and output.
func execute(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	var out, err bytes.Buffer
	code = run(t.Context(), args, command.Streams{In: strings.NewReader(""), Out: &out, Err: &err})
	return code, out.String(), err.String()
}

func TestHelpIsPrinted(t *testing.T) {
	for args, file := range map[string]string{
		"--help": "help.txt", "-h": "help.txt", "help": "help.txt",
		"adopt --help": "adopt.txt", "help adopt": "adopt.txt",
		"cost --help": "cost.txt", "help cost": "cost.txt", "cost pods -h": "cost.txt",
		"try --help": "try.txt", "help try": "try.txt", "try ./... -h": "try.txt",
	} {
		code, stdout, stderr := execute(t, strings.Fields(args)...)
		if code != 0 || stderr != "" {
			t.Errorf("%s: exit code %d, stderr %q", args, code, stderr)
		}
		clustertest.ExpectGolden(t, file, stdout)
	}
}

func TestMissingArgumentsPrintTheHelp(t *testing.T) {
	for args, file := range map[string]string{"": "help.txt", "adopt": "adopt.txt", "cost": "cost.txt", "try": "try.txt"} {
		code, stdout, stderr := execute(t, strings.Fields(args)...)
		if code != 2 || stdout != "" {
			t.Errorf("%q: exit code %d, stdout %q", args, code, stdout)
		}
		clustertest.ExpectGolden(t, file, stderr)
	}
}

func TestErrorsAreOneLine(t *testing.T) {
	for args, want := range map[string]struct {
		code int
		text string
	}{
		"adopt ./... --fly":                     {2, "kinformer: unknown flag: --fly; see kinformer adopt --help"},
		"fly":                                   {2, `kinformer: unknown command "fly"; see kinformer --help`},
		"help nonsense":                         {2, `kinformer: unknown command "nonsense"; see kinformer --help`},
		"cost pods --fly":                       {2, "kinformer: unknown flag: --fly; see kinformer cost --help"},
		"try ./... --fly":                       {2, "kinformer: unknown flag: --fly; see kinformer try --help"},
		"try --packed":                          {2, "kinformer: name packages, such as ./...; see kinformer try --help"},
		"try x_test.go":                         {2, "kinformer: name packages such as ./..., not files: x_test.go; see kinformer try --help"},
		"try ./... -o yaml":                     {2, `kinformer: --output must be table or json, not "yaml"; see kinformer try --help`},
		"cost pods --context nowhere":           {1, `context "nowhere" not found, available contexts: <none>`},
		"cost pods":                             {1, "kinformer: no cluster configured: kubeconfig ("},
		"cost pods --server http://127.0.0.1:1": {1, "kinformer: discover the resources of http://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused"},
	} {
		code, stdout, stderr := execute(t, strings.Fields(args)...)
		if code != want.code || stdout != "" || !strings.Contains(stderr, want.text) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want %d, %q", args, code, stdout, stderr, want.code, want.text)
		}
	}
}

func TestVersionNamesWhatIsMeasured(t *testing.T) {
	code, stdout, stderr := execute(t, "--version")
	if code != 0 || stderr != "" || !regexp.MustCompile(`^kinformer \S+, client-go v0\.\S+, go1\.\S+\n$`).MatchString(stdout) {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}
