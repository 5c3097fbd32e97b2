// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
)

// A deletion waits only for scopes into which this object can have moved: it keeps its namespace.
func TestDeletionDoesNotWaitForOtherNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := refusing(new(atomic.Bool), "secret")
		server.Update(configMap("a/1", "env=dev"))
		scopes := cache.NewScopes(cache.Scope{LabelSelector: "env=dev"})
		informer := runInformer(t, server, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: scopes})
		_ = scopes.Add(cache.Scope{Namespace: "secret", LabelSelector: "env=prod"})
		synctest.Wait()
		server.Delete("a/1")
		<-time.After(10 * time.Minute)
		if n := informer.Store().Len(); n != 0 {
			t.Errorf("the store has %d objects", n)
		}
	})
}

// The cost of a deletion does not grow with the number of deletions that wait. Allocations stand
// for the cost: each deletion that is looked at takes one.
func TestManyDeletionsWait(t *testing.T) {
	dev, prod := cache.Scope{LabelSelector: "env=dev"}, cache.Scope{LabelSelector: "env=prod"}
	mallocs := func() uint64 {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.Mallocs
	}
	cost := func(n int) (cost uint64) {
		runScoped(t, func(i *scopedInformer) {
			for k := range n {
				i.server.Create(configMap(fmt.Sprintf("a/%05d", k), "env=dev"))
			}
			synctest.Wait()
			before := mallocs()
			for k := range n {
				i.server.Delete(fmt.Sprintf("a/%05d", k))
			}
			synctest.Wait()
			cost = mallocs() - before
			if held := i.Store().Len(); held != n {
				i.t.Errorf("the store has %d objects, want %d", held, n)
			}
			<-time.After(2 * time.Minute)
			i.expectStored()
		}, dev, prod)
		return cost
	}
	if few, many := cost(400), cost(3200); many > 16*few {
		t.Errorf("400 deletions took %d allocations, 3200 took %d", few, many)
	}
}

// An object that was deleted is not reported as one that still exists.
func TestWaitingDeletionOfRemovedScopeIsNotLeftScope(t *testing.T) {
	dev, prod := cache.Scope{LabelSelector: "env=dev"}, cache.Scope{LabelSelector: "env=prod"}
	runScoped(t, func(i *scopedInformer) {
		i.server.Create(configMap("a/1", "env=dev"))
		i.expect("Add a/1")
		i.server.Delete("a/1")
		synctest.Wait()
		_ = i.scopes.Remove(dev)
		<-time.After(2 * time.Minute)
		i.expect("Delete a/1")
	}, dev, prod)
}

// A deletion of which both scopes were removed waits for none.
func TestWaitingDeletionOfRemovedScopes(t *testing.T) {
	dev, prod := cache.Scope{LabelSelector: "env=dev"}, cache.Scope{LabelSelector: "env=prod"}
	runScoped(t, func(i *scopedInformer) {
		i.server.Create(configMap("a/1", "env=dev"))
		i.expect("Add a/1")
		i.server.Delete("a/1")
		synctest.Wait()
		_ = i.scopes.Remove(dev)
		i.expect()
		_ = i.scopes.Remove(prod)
		i.expect("Delete a/1")
		i.expectStored()
	}, dev, prod)
}
