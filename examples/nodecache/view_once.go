package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// onceView prints the table once, when all nodes are listed.
type onceView struct {
	eventCounter
	out io.Writer
}

// run waits for all nodes to be listed and prints them. If the list fails, waitForSync reports the
// error and ends ctx.
func (v *onceView) run(ctx context.Context, nodes *nodeCache) error {
	began := time.Now()
	if err := nodes.controller.WaitForSync(ctx); err != nil {
		return nil //nolint:nilerr // reported by waitForSync
	}
	s := nodes.viewState(v.counts(), time.Now())
	table, _ := s.table(s.nodes.Len())
	_, err := fmt.Fprintf(v.out, "%s\n\n%s; resourceVersion %s of %s; synced in %v\n", strings.Join(table, "\n"),
		s.nodeSummary(), s.nodes.ResourceVersion(), sanitize(s.server), s.now.Sub(began).Round(time.Millisecond))
	if err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// finish does nothing: run has printed the table.
func (v *onceView) finish(*nodeCache) error { return nil }
