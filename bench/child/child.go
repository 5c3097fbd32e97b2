// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package child runs an informer in a child process and measures what it costs; see package
// process.
package child

import (
	"context"
	"flag"
	"io"
	"os"
	"runtime"
	"strconv"

	"k8s.io/client-go/features"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/internal/testing/footprint"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// Arg is the first argument of a child process. The program must then call Main with the others.
const Arg = "child"

// Main runs a child process and writes the result in JSON.
func Main(args []string, out io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case footprintArg:
			return footprintMain(args[1:], out)
		case scopesArg:
			return scopesMain(args[1:], out)
		case shardArg:
			return shardMain(args[1:], out)
		}
	}
	return syncMain(args, out)
}

// addMemProfile defines a flag for the file of a heap profile, and returns its value. With the
// flag, more allocations are sampled than by default.
func addMemProfile(flags *flag.FlagSet) *string {
	var file string
	flags.Func("memprofile", "write a heap profile to this file", func(name string) error {
		file, runtime.MemProfileRate = name, 4096
		return nil
	})
	return &file
}

// run runs this program as a child process with the feature gates of a side, and reads its result.
func run(ctx context.Context, side string, result any, args ...string) error {
	return process.Child{
		Args:   append([]string{Arg}, args...),
		Env:    append(os.Environ(), featureGates(side)...),
		Stderr: os.Stderr,
	}.Run(ctx, result)
}

// featureGates returns the environment variables that set client-go's feature gates for a side.
func featureGates(side string) (variables []string) {
	for gate, enabled := range map[features.Feature]bool{
		features.WatchListClient:   side == ClientGoWatchList,
		features.ClientsAllowCBOR:  side == PrefersCBOR,
		features.ClientsPreferCBOR: side == PrefersCBOR,
	} {
		variables = append(variables, "KUBE_FEATURE_"+string(gate)+"="+strconv.FormatBool(enabled))
	}
	return variables
}

// Server is the address of the server of the objects. Over plain HTTP only the URL is needed.
type Server struct {
	URL    string
	CAFile string
	Token  string
}

// config returns the configuration of a client without rate limit that prefers protobuf. Like that
// of most programs, it has no timeout, for which net/http would run a goroutine for each request.
func (s Server) config() *rest.Config {
	config := footprint.Config(s.URL, s.Token)
	config.CAFile, config.Timeout = s.CAFile, 0
	return config
}
