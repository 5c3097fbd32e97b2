package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
)

// run is the program without the process: it returns the exit code, and by then
// has ended everything that it started.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "nodecache: %s; see --help\n", clean(err.Error()))
		return 2
	}
	if err := show(ctx, o, newView(o, stdout)); err != nil {
		fmt.Fprintf(stderr, "nodecache: %s\n", clean(err.Error()))
		return 1
	}
	return 0
}

// view is a way to show the nodes. As the informer's handler it hears of each
// change.
type view interface {
	cache.ResourceEventHandler[*corev1.Node]
	// run shows the nodes until ctx ends, or until all is shown that there is to be.
	run(ctx context.Context, nodes *nodeCache) error
	// finish shows the last state, when nothing changes any more.
	finish(nodes *nodeCache) error
}

// newView returns the view for what stdout is.
func newView(o options, stdout io.Writer) view {
	if o.once {
		return &once{out: stdout}
	}
	if size, ok := terminalSize(stdout); ok {
		return newScreen(stdout, size)
	}
	return newLines(stdout)
}

// show runs the informer and what feeds it, shows its nodes, and ends it all.
func show(ctx context.Context, o options, v view) (err error) {
	from, err := connect(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.close()) }()

	nodes := newNodeCache(from, v)
	work := startWork(ctx)
	work.start(nodes.controller.Run)
	work.start(func(ctx context.Context) error {
		if err := nodes.awaitSync(ctx); err != nil {
			return err
		}
		return from.simulate(ctx)
	})

	if err := showFor(work.ctx, o, v, nodes); err != nil {
		return errors.Join(err, work.stop())
	}
	if err := work.stop(); err != nil {
		return err
	}
	if !nodes.controller.HasSynced() {
		return fmt.Errorf("ended before the nodes of %s were listed", from.name)
	}
	return v.finish(nodes)
}

// showFor runs the view for as long as the options say.
func showFor(ctx context.Context, o options, v view, nodes *nodeCache) error {
	if o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}
	return v.run(ctx, nodes)
}
