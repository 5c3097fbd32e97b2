// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// A write of the program does not bring the store to the object's version: events before that may
// still be to come.
func TestWriteDoesNotReachAVersion(t *testing.T) {
	runInformer(t, []string{"a=1"}, func(config *Config) {
		config.Store.Identity = func(any) (string, string) { return "uid-a", "12" }
	}, func(*harness) {}, func(h *harness) {
		if err := h.Store().Put("a=12"); err != nil {
			h.t.Fatal(err)
		}
		if got := h.Store().Snapshot().ResourceVersion(); got != "10" {
			h.t.Errorf("a snapshot is at version %q, want 10", got)
		}
		ctx, cancel := context.WithTimeout(h.t.Context(), time.Second)
		defer cancel()
		if err := h.WaitForResourceVersion(ctx, "12"); !errors.Is(err, context.DeadlineExceeded) {
			h.t.Errorf("WaitForResourceVersion returned %v before an event at that version", err)
		}
		h.send(watch.Added, "b=1", "12")
		if err := h.WaitForResourceVersion(h.t.Context(), "12"); err != nil {
			h.t.Error(err)
		}
	})
}
