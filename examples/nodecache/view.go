package main

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
)

// view shows the nodes. It is also the informer's handler, so it receives each change.
type view interface {
	cache.EventHandler[*corev1.Node]
	// run shows the nodes until ctx ends or the view is complete.
	run(ctx context.Context, nodes *nodeCache) error
	// finish shows the final state, after the informer has stopped.
	finish(nodes *nodeCache) error
}

// newView returns the view that fits the options and the type of stdout.
func newView(o options, stdout io.Writer) view {
	if o.once {
		return &onceView{out: stdout}
	}
	if size, ok := terminalSize(stdout); ok {
		return newScreenView(stdout, size)
	}
	return newLinesView(stdout)
}
