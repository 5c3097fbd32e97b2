// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"k8s.io/klog/v2"
)

// failureLog logs the failures of a source. One that repeats is logged once, until the source fails
// for another reason or succeeds.
type failureLog struct {
	origin string // the folder or URL
	last   string // the text of the failure logged last; empty after a success
}

func (f *failureLog) failed(ctx context.Context, err error) {
	if err.Error() != f.last {
		klog.FromContext(ctx).Error(err, "Keeping the last good set", "origin", f.origin)
	}
	f.last = err.Error()
}

func (f *failureLog) succeeded() { f.last = "" }
