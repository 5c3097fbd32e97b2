// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/kinformer/kinformer/internal/terminal"
)

// run runs the program and returns its exit code. When it returns, all goroutines have ended.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "nodecache: %s; see --help\n", terminal.Sanitize(err.Error()))
		return 2
	}
	if err := show(ctx, o, terminal.NewView(stdout, o.once), stderr); err != nil {
		fmt.Fprintf(stderr, "nodecache: %s\n", terminal.Sanitize(err.Error()))
		return 1
	}
	return 0
}

// show runs the informer, the simulation, the debug page and the view until the view ends.
func show(ctx context.Context, o options, v terminal.View, stderr io.Writer) (err error) {
	from, err := newSource(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.close()) }()

	nodes := newNodeCache(from, viewHandler{v})
	if o.debugAddr != "" {
		page, err := serveDebugPage(ctx, o.debugAddr, nodes.controller)
		if err != nil {
			return err
		}
		defer page.close()
		nodes.debugPage = page.url
		fmt.Fprintf(stderr, "nodecache: the debug page is at %s\n", page.url)
	}
	return terminal.Show(ctx, v, nodes.shown(), o.duration, from.simulate)
}
