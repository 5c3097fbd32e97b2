// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// options are the parsed command line.
type options struct {
	cluster             bool // use a real cluster
	kubeconfig, context string
	nodes               int
	seed                uint64
	once                bool
	duration            time.Duration // 0 runs until interrupted
	debugAddr           string        // of the debug page; none if empty
}

// maxNodes is ten times the number of nodes that Kubernetes supports in one cluster.
const maxNodes = 50_000

const usage = `nodecache keeps an up-to-date copy of a cluster's nodes in memory and shows it.

Usage: nodecache [flags]          (in the repository: make run ARGS="[flags]")

Source of the nodes:
  (no flag)           a simulated cluster: an API server in this process with nodes that join, change and leave
  --nodes N           approximate number of nodes in the simulated cluster (default 20)
  --seed N            random seed of the simulation (default 1); the same seed produces the same changes
  --cluster           a real cluster, configured as for kubectl: KUBECONFIG, ~/.kube/config or the Pod's service account
  --kubeconfig FILE   a real cluster, from this kubeconfig file
  --context NAME      a real cluster, from this context instead of the current one

Output:
  (no flag)           on a terminal, a table that is redrawn in place; otherwise a line for each event and a summary
                      every five seconds
  --once              print the table when all nodes are listed, and exit
  --debug-addr ADDR   serve the debug page at this address, such as :8080 (127.0.0.1 only) or 10.0.0.7:8080

Duration:
  (no flag)           run until Ctrl-C (SIGINT) or SIGTERM
  --duration D        run for this long, such as 10s or 5m

The exit code is 0 after --once, --duration or Ctrl-C, 1 after an error and 2 for invalid flags.
`

// parseFlags parses the command line. It returns flag.ErrHelp for --help.
func parseFlags(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("nodecache", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run prints errors and usage
	flags.BoolVar(&o.cluster, "cluster", false, "")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "")
	flags.StringVar(&o.context, "context", "", "")
	flags.IntVar(&o.nodes, "nodes", 20, "")
	flags.Uint64Var(&o.seed, "seed", 1, "")
	flags.BoolVar(&o.once, "once", false, "")
	flags.DurationVar(&o.duration, "duration", 0, "")
	flags.StringVar(&o.debugAddr, "debug-addr", "", "")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	o.cluster = o.cluster || given["kubeconfig"] || given["context"]
	return o, o.check(given, flags.Args())
}

// check returns an error that lists all invalid flags and arguments.
func (o options) check(given map[string]bool, args []string) error {
	var problems []string
	reject := func(condition bool, format string, args ...any) {
		if condition {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	reject(len(args) > 0, "unexpected argument %q", strings.Join(args, " "))
	reject(o.nodes < 1 || o.nodes > maxNodes, "--nodes must be between 1 and %d, not %d", maxNodes, o.nodes)
	reject(given["duration"] && o.duration <= 0, "--duration must be positive, not %v", o.duration)
	reject(o.once && given["duration"], "--once cannot be combined with --duration")
	reject(given["kubeconfig"] && o.kubeconfig == "", "--kubeconfig requires a file name")
	reject(given["context"] && o.context == "", "--context requires a context name")
	reject(given["debug-addr"] && o.debugAddr == "", "--debug-addr requires an address")
	reject(o.once && given["debug-addr"], "--once cannot be combined with --debug-addr")
	for _, name := range []string{"nodes", "seed"} {
		reject(o.cluster && given[name], "--%s applies only to the simulated cluster", name)
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}
