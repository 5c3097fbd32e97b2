// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestWaitForObjectReturnsWhyItIsNotStored waits for an object that never had a good state, and for
// one that has an earlier one.
func TestWaitForObjectReturnsWhyItIsNotStored(t *testing.T) {
	runNotStored(t, func(r *notStoredReader) {
		if r.options.Filter != nil {
			return // WaitForObject calls it and returns the panic
		}
		for _, name := range []string{"d", "b"} {
			written := r.Update(cachetest.Pod(name, broken))
			if err := r.WaitForObject(r.T.Context(), written); !errors.Is(err, cache.ErrNotStored) || !errors.Is(err, errBroken) {
				r.T.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestWaitForDeleteOfObjectThatCannotBeStored waits for a deletion that makes no change in the
// store.
func TestWaitForDeleteOfObjectThatCannotBeStored(t *testing.T) {
	runNotStored(t, func(r *notStoredReader) {
		d := r.Update(cachetest.Pod("d", broken))
		ctx, cancel := context.WithTimeout(r.T.Context(), time.Second)
		defer cancel()
		if err := r.WaitForDelete(ctx, d); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, cache.ErrNotStored) || !errors.Is(err, errBroken) {
			r.T.Errorf("before the deletion: %v", err)
		}
		w := startWait(func() error { return r.WaitForDelete(r.T.Context(), d) })
		r.Create(cachetest.Pod("e"))
		if err, ended := w.result(); ended {
			r.T.Errorf("after another change: %v", err)
		}
		r.Delete("ns/d")
		w.expectDone(r.T, "the deletion")

		recreated := r.Create(cachetest.Pod("d", broken))
		w = startWait(func() error { return r.WaitForDelete(r.T.Context(), recreated) })
		r.Update(cachetest.Pod("d"))
		if err, ended := w.result(); ended {
			r.T.Errorf("after the first good state: %v", err)
		}
		r.Delete("ns/d")
		w.expectDone(r.T, "the deletion of the good state")
	})
}

// TestWaitForDeleteOfRecreatedObject waits for the deletion of an object, in whose place another is
// stored. That the newest state of the other one could not be stored does not matter.
func TestWaitForDeleteOfRecreatedObject(t *testing.T) {
	runShared(t, notStoredCauses()["Transform"], func(s *sharedHarness) {
		first := must(s.SharedInformer.Store().GetByKey("ns/a"))
		s.Delete("ns/a")
		s.Create(cachetest.Pod("a"))
		s.Update(cachetest.Pod("a", broken))
		startWait(func() error { return s.WaitForDelete(s.T.Context(), first) }).expectDone(t, "a deletion and an addition")
	})
}
