package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
)

// run runs the program and returns its exit code. When it returns, all goroutines have ended.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "nodecache: %s; see --help\n", sanitize(err.Error()))
		return 2
	}
	if err := show(ctx, o, newView(o, stdout)); err != nil {
		fmt.Fprintf(stderr, "nodecache: %s\n", sanitize(err.Error()))
		return 1
	}
	return 0
}

// show runs the informer, the simulation and the view until the view ends.
func show(ctx context.Context, o options, v view) (err error) {
	from, err := newSource(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.close()) }()

	nodes := newNodeCache(from, v)
	background := newGroup(ctx)
	background.start(nodes.controller.Run)
	background.start(func(ctx context.Context) error {
		if err := nodes.waitForSync(ctx); err != nil {
			return err
		}
		return from.simulate(ctx)
	})

	if err := showFor(background.ctx, o, v, nodes); err != nil {
		return errors.Join(err, background.stop())
	}
	if err := background.stop(); err != nil {
		return err
	}
	if !nodes.controller.HasSynced() {
		return fmt.Errorf("stopped before the nodes of %s were listed", from.name)
	}
	return v.finish(nodes)
}

// showFor runs the view for the duration in the options.
func showFor(ctx context.Context, o options, v view, nodes *nodeCache) error {
	if o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}
	return v.run(ctx, nodes)
}
