// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinformer/kinformer/cache"
)

// A removed scope never reaches a version: a wait for it must not end as if it had.
func TestRemovalEndsWaitForVersionOfScope(t *testing.T) {
	runScoped(t, func(i *scopedInformer) {
		waited := make(chan error, 1)
		go func() { waited <- i.InScope(cache.Scope{Namespace: "a"}).WaitForResourceVersion(i.t.Context(), "100") }()
		synctest.Wait()
		_ = i.scopes.Remove(namespaces("a")...)
		if err := <-waited; !errors.Is(err, cache.ErrNoScope) {
			i.t.Errorf("WaitForResourceVersion returned %v", err)
		}
	}, namespaces("a", "b")...)
}

// Waits of an informer with scopes check the version as those of others do.
func TestScopedWaitsCheckVersion(t *testing.T) {
	runScoped(t, func(i *scopedInformer) {
		ctx, cancel := context.WithTimeout(i.t.Context(), time.Hour)
		defer cancel()
		for _, version := range []string{"", "abc"} {
			obj := configMap("a/1")
			obj.ResourceVersion = version
			if err := i.WaitForObject(ctx, obj); err == nil || errors.Is(err, context.DeadlineExceeded) {
				i.t.Errorf("WaitForObject at %q returned %v", version, err)
			}
			if err := i.InScope(cache.Scope{Namespace: "a"}).WaitForResourceVersion(ctx, version); err == nil || errors.Is(err, context.DeadlineExceeded) {
				i.t.Errorf("WaitForResourceVersion of %q returned %v", version, err)
			}
		}
	}, namespaces("a", "b")...)
}
