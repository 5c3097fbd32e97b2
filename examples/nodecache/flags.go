package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// options are what the command line asks for.
type options struct {
	cluster             bool // a real one
	kubeconfig, context string
	nodes               int
	seed                uint64
	once                bool
	duration            time.Duration // zero is until interrupted
}

// maxNodes is ten times what Kubernetes supports in one cluster.
const maxNodes = 50_000

const usage = `nodecache shows the nodes of a cluster, always current, from a local cache.

Usage: nodecache [flags]          (in the repository: make run, or go run ./examples/nodecache [flags])

Where the nodes come from:
  (no flag)           a simulated cluster: an API server in this process, with nodes that join, change and leave
  --nodes N           how many nodes the simulated cluster has, more or less (default 20)
  --seed N            the seed of what happens to them (default 1): the same seed, the same story
  --cluster           a real cluster, found as kubectl finds it: KUBECONFIG, ~/.kube/config, the Pod it runs in
  --kubeconfig FILE   a real cluster, from this file
  --context NAME      a real cluster, by this context instead of the current one

How they are shown:
  (no flag)           on a terminal a table, redrawn in place; otherwise a line for each event and a summary every
                      five seconds
  --once              print the table once it is complete, and exit

How long:
  (no flag)           until Ctrl-C (SIGINT) or SIGTERM, on a terminal or not, as kubectl get --watch does
  --duration D        for that long, such as 10s or 5m: for scripts and CI

The exit code is 0 after --once, --duration and Ctrl-C, 1 when it did not work, 2 when the flags make no sense.
`

// parseFlags reads the command line. The error is flag.ErrHelp if that is what it
// asks for.
func parseFlags(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("nodecache", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are printed by run, help is in usage
	flags.BoolVar(&o.cluster, "cluster", false, "")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "")
	flags.StringVar(&o.context, "context", "", "")
	flags.IntVar(&o.nodes, "nodes", 20, "")
	flags.Uint64Var(&o.seed, "seed", 1, "")
	flags.BoolVar(&o.once, "once", false, "")
	flags.DurationVar(&o.duration, "duration", 0, "")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	o.cluster = o.cluster || given["kubeconfig"] || given["context"]
	return o, o.check(given, flags.Args())
}

// check returns what is wrong with the flags, all of it.
func (o options) check(given map[string]bool, rest []string) error {
	var wrong []string
	reject := func(condition bool, format string, args ...any) {
		if condition {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	reject(len(rest) > 0, "%q is not a flag", strings.Join(rest, " "))
	reject(o.nodes < 1 || o.nodes > maxNodes, "--nodes must be from 1 to %d, not %d", maxNodes, o.nodes)
	reject(given["duration"] && o.duration <= 0, "--duration must be more than zero, not %v", o.duration)
	reject(o.once && given["duration"], "--once ends by itself and takes no --duration")
	reject(given["kubeconfig"] && o.kubeconfig == "", "--kubeconfig needs the name of a file")
	reject(given["context"] && o.context == "", "--context needs the name of a context")
	for _, name := range []string{"nodes", "seed"} {
		reject(o.cluster && given[name], "--%s is about the simulated cluster, not about a real one", name)
	}
	if len(wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(wrong, "; "))
}
