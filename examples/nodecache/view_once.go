package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// once prints the table as soon as it is complete.
type once struct {
	tally
	out io.Writer
}

// run waits for the first full state and prints it. What keeps it from coming is
// told by awaitSync, which ends ctx then.
func (o *once) run(ctx context.Context, nodes *nodeCache) error {
	began := time.Now()
	if err := nodes.controller.WaitForSync(ctx); err != nil {
		return nil //nolint:nilerr // told by awaitSync
	}
	p := nodes.picture(o.counts(), time.Now())
	table, _ := p.table(p.nodes.Len())
	_, err := fmt.Fprintf(o.out, "%s\n\n%s; resourceVersion %s of %s; in the cache after %v\n", strings.Join(table, "\n"),
		p.population(), p.nodes.ResourceVersion(), clean(p.server), p.now.Sub(began).Round(time.Millisecond))
	if err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	return nil
}

// finish has nothing to add.
func (o *once) finish(*nodeCache) error { return nil }
