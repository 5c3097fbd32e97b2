// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package child runs an informer in a child process and measures what it costs; see package
// process.
package child

import (
	"context"
	"io"
	"os"
	"strconv"

	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/internal/footprint"
	"github.com/kinformer/kinformer/internal/process"
)

// Arg is the first argument of a child process. The program must then call Main with the others.
const Arg = "child"

// Main runs a child process and writes the result in JSON.
func Main(args []string, out io.Writer) error {
	switch {
	case len(args) > 0 && args[0] == footprintArg:
		return footprintMain(args[1:], out)
	case len(args) > 0 && args[0] == scopesArg:
		return scopesMain(args[1:], out)
	case len(args) > 0 && args[0] == shardArg:
		return shardMain(args[1:], out)
	default:
		return syncMain(args, out)
	}
}

// run runs this program as a child process and reads its result. watchList enables client-go's
// feature gate WatchListClient.
func run(ctx context.Context, watchList bool, result any, args ...string) error {
	return process.Child{
		Args:   append([]string{Arg}, args...),
		Env:    append(os.Environ(), "KUBE_FEATURE_WatchListClient="+strconv.FormatBool(watchList)),
		Stderr: os.Stderr,
	}.Run(ctx, result)
}

// Server is the address of the server of the objects. Over plain HTTP only the URL is needed.
type Server struct {
	URL    string
	CAFile string
	Token  string
}

// config returns the configuration of a client without rate limit that prefers protobuf.
func (s Server) config() *rest.Config {
	config := footprint.Config(s.URL, s.Token)
	config.CAFile = s.CAFile
	return config
}
