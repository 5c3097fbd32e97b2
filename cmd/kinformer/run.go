// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/adopt"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/cost"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/try"
)

const help = `kinformer shows what a cache of a cluster's resources costs, and tries and adopts
kinformer's informers in a program.

Usage: kinformer COMMAND [flags]

Commands:
  adopt   make a program that uses client-go's informers use kinformer's
  cost    measure what a cache of a resource takes: memory, CPU, bytes on the
          wire
  try     run a program's own tests on client-go's informers and on kinformer's

"kinformer COMMAND --help" describes a command, and "kinformer --version" prints
the version. cost chooses the cluster as kubectl does: by --kubeconfig,
KUBECONFIG, ~/.kube/config or the service account of the Pod, and --context.

The exit code is 0 after success, 1 after an error and 2 for an invalid command
line.
`

// commands are the commands by name.
var commands = map[string]struct { //nolint:gochecknoglobals // a constant
	run  func(ctx context.Context, args []string, streams command.Streams) error
	help string
}{
	"adopt": {adopt.Run, adopt.Help},
	"cost":  {cost.Run, cost.Help},
	"try":   {try.Run, try.Help},
}

// run runs a command and returns the exit code.
func run(ctx context.Context, args []string, streams command.Streams) int {
	err := dispatch(ctx, args, streams)
	usage, isUsage := errors.AsType[*command.UsageError](err)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(streams.Out, helpOf(args))
		return 0
	case isUsage && usage.Help != "":
		fmt.Fprint(streams.Err, usage.Help)
		return 2
	case isUsage:
		fmt.Fprintf(streams.Err, "kinformer: %s\n", command.Sanitize(usage.Error()))
		return 2
	}
	fmt.Fprintf(streams.Err, "kinformer: %s\n", command.Sanitize(err.Error()))
	return 1
}

// dispatch runs the command that the first argument names. It returns pflag.ErrHelp if the help is
// asked for.
func dispatch(ctx context.Context, args []string, streams command.Streams) error {
	if len(args) == 0 {
		return &command.UsageError{Help: help}
	}
	switch name := args[0]; name {
	case "--help", "-h":
		return pflag.ErrHelp
	case "--version":
		fmt.Fprintln(streams.Out, version())
		return nil
	case "help":
		if len(args) == 1 || args[1] == "--help" || args[1] == "-h" {
			return pflag.ErrHelp
		}
		if _, ok := commands[args[1]]; ok {
			return pflag.ErrHelp
		}
		return unknownCommand(args[1])
	default:
		if command, ok := commands[name]; ok {
			return command.run(ctx, args[1:], streams)
		}
		return unknownCommand(name)
	}
}

// version returns the versions of the command, of client-go, which it measures too, and of Go.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "kinformer, of an unknown version"
	}
	versions := []string{"kinformer " + cmp.Or(info.Main.Version, "(devel)")}
	for _, module := range info.Deps {
		if module.Path == "k8s.io/client-go" {
			versions = append(versions, "client-go "+module.Version)
		}
	}
	return strings.Join(append(versions, info.GoVersion), ", ")
}

func unknownCommand(name string) error {
	return &command.UsageError{Message: fmt.Sprintf("unknown command %q; see kinformer --help", name)}
}

// helpOf returns the help of the command in the arguments, as in "cost --help" and "help cost".
func helpOf(args []string) string {
	if args[0] == "help" {
		args = args[1:]
	}
	if len(args) > 0 {
		if command, ok := commands[args[0]]; ok {
			return command.help
		}
	}
	return help
}
