// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
)

// A handler that is behind receives one event for an update and the removal of the scope.
func TestCoalescedRemovalOfScopeIsLeftScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newScopedInformer(t, cache.NewScopes(namespaces("a", "b")...))
		resume, events := make(chan struct{}), make(chan cache.Event[*corev1.ConfigMap], 10000)
		handle(t, i.SharedInformer, func(e cache.Event[*corev1.ConfigMap]) {
			<-resume
			events <- e
		})
		start(t, i)
		synctest.Wait()
		i.server.Create(configMap("a/1"))
		resume <- struct{}{}
		i.server.Update(configMap("a/1", "n=0")) // which the handler holds
		synctest.Wait()
		i.server.Update(configMap("a/1", "n=1"))
		i.server.Create(configMap("b/1"))
		for n := range 10_100 { // more than are kept apart
			i.server.Update(configMap("b/1", fmt.Sprintf("n=%d", n)))
			if n%100 == 0 {
				synctest.Wait()
			}
		}
		_ = i.scopes.Remove(namespaces("a")...)
		synctest.Wait()
		close(resume)
		synctest.Wait()
		close(events)
		deletions := 0
		for e := range events {
			if e.Key == "a/1" && e.Type == cache.EventDelete {
				deletions++
				if !e.LeftScope {
					t.Errorf("deletion without LeftScope; coalesced: %d", e.Coalesced)
				}
			}
		}
		if deletions != 1 {
			t.Errorf("%d deletions", deletions)
		}
	})
}

// The events of an object that the filter refuses are the same when its scope has been removed
// since.
func TestFilteredOutThenScopeRemovedIsLeftScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newScopedInformerWith(t, cache.InformerOptions[*corev1.ConfigMap]{Scopes: cache.NewScopes(namespaces("a", "b")...), Filter: notSkipped})
		resume := make(chan struct{})
		left := 0
		handle(t, i.SharedInformer, func(e cache.Event[*corev1.ConfigMap]) {
			<-resume
			switch {
			case e.LeftScope:
				left++
			case e.Type == cache.EventDelete:
				t.Error("deletion without LeftScope")
			}
		})
		start(t, i)
		synctest.Wait()
		i.server.Create(configMap("a/1"))
		synctest.Wait()
		i.server.Update(configMap("a/1", "skip=1"))
		synctest.Wait()
		_ = i.scopes.Remove(namespaces("a")...)
		synctest.Wait()
		close(resume)
		synctest.Wait()
		if left != 1 {
			t.Errorf("%d deletions with LeftScope", left)
		}
	})
}
