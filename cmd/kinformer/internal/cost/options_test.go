// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/clustertest"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
)

func TestOptions(t *testing.T) {
	o, err := parse(strings.Fields("pods,nodes deploy --qps 2.5 -n a --secrets -y --large -o json --context c --as me"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"pods", "nodes", "deploy"}; !slices.Equal(o.resources, want) {
		t.Errorf("resources %q, want %q", o.resources, want)
	}
	if o.qps != 2.5 || !o.secrets || !o.yes || !o.large || o.output != "json" || o.all || o.cluster.Namespace() != "a" {
		t.Errorf("options %+v", o)
	}
}

func TestDefaultsAreSafe(t *testing.T) {
	o, err := parse([]string{"pods"})
	if err != nil {
		t.Fatal(err)
	}
	if o.qps != 5 || o.secrets || o.yes || o.large || o.output != "table" || o.cluster.Namespace() != "" {
		t.Errorf("options %+v", o)
	}
}

func TestInvalidOptions(t *testing.T) {
	for args, want := range map[string]string{
		"":                  "name resources, or --all",
		"--yes":             "name resources, or --all",
		",":                 "name resources, or --all",
		"pods --all":        "name resources or --all, not both",
		"pods --qps 0":      "--qps must be positive",
		"pods --qps -1":     "--qps must be positive",
		"pods --qps NaN":    "--qps must be positive",
		"pods --qps Inf":    "--qps must be positive",
		"pods -o yaml":      `--output must be table or json, not "yaml"`,
		"pods --everything": "unknown flag: --everything",
	} {
		_, err := parse(strings.Fields(args))
		usage, ok := errors.AsType[*command.UsageError](err)
		if !ok || usage.Message != want+"; see kinformer cost --help" {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
}

func TestHelpIsAsked(t *testing.T) {
	for _, args := range []string{"--help", "-h", "pods --help"} {
		if _, err := parse(strings.Fields(args)); !errors.Is(err, pflag.ErrHelp) {
			t.Errorf("%q: error %v", args, err)
		}
	}
}

func TestHelpDescribesEachFlag(t *testing.T) { clustertest.ExpectHelp(t, Help, (&options{}).flags()) }
