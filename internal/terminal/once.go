// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// onceView prints the table once, when all objects are listed.
type onceView struct {
	eventCounter
	out io.Writer
}

// run waits for all objects to be listed and prints them. If the list fails, waitForSync reports
// the error and ends ctx.
func (v *onceView) run(ctx context.Context, shown Shown) error {
	began := time.Now()
	if err := shown.Informer.WaitForSync(ctx); err != nil {
		return nil //nolint:nilerr // reported by waitForSync
	}
	s := shown.state(v.counts(), time.Now())
	_, err := fmt.Fprintf(v.out, "%s\n\n%s; resourceVersion %s of %s; synced in %v\n", strings.Join(table(s.Columns, s.Rows(s.Len), maxCell), "\n"),
		Sanitize(s.Summary), Sanitize(s.ResourceVersion), Sanitize(shown.Server), s.Now.Sub(began).Round(time.Millisecond))
	if err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// finish does nothing: run has printed the table.
func (v *onceView) finish(Shown) error { return nil }
