// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// rules are functions that may refuse a request, by its selectors.
type rules struct {
	*fake.ListerWatcher[*corev1.ConfigMap]
	list, watch func(metav1.ListOptions) error
}

func (r *rules) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if r.list != nil {
		if err := r.list(options); err != nil {
			return nil, err
		}
	}
	return r.ListerWatcher.List(ctx, options)
}

func (r *rules) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if r.watch != nil {
		if err := r.watch(options); err != nil {
			return nil, err
		}
	}
	return r.ListerWatcher.Watch(ctx, options)
}

// A joined watch needs the lowest version of its scopes. If the server has only later ones, the
// scopes keep their own watches, and nothing is listed again.
func TestExpiredJoinLeavesTheScopes(t *testing.T) {
	runScoped(t, func(i *scopedInformer) {
		i.server.SetShardedListAndWatch(true)
		i.server.LimitHistory(3)
		for n := range 20 {
			i.server.Create(configMap(fmt.Sprintf("a/%02d", n)))
			synctest.Wait()
		}
		i.takeEvents()
		_ = i.scopes.Add(ranges(8, 16)...)
		synctest.Wait()
		lists := i.Status().Requests.Lists
		for round := range 20 {
			i.server.Update(configMap(fmt.Sprintf("a/%02d", round)))
			synctest.Wait()
		}
		<-time.After(4 * time.Minute) // watches last 5 minutes at least
		if now := i.Status().Requests.Lists; now != lists {
			i.t.Errorf("%d lists were made", now-lists)
		}
		if n := i.server.OpenWatches(); n != 1 {
			i.t.Errorf("%d watches are open, want 1", n)
		}
		updates := 0
		for _, event := range i.takeEvents() {
			if strings.HasPrefix(event, "Update") {
				updates++
			}
		}
		if updates != 20 {
			i.t.Errorf("%d updates, want 20", updates)
		}
	}, ranges(0, 8)...)
}

// After a restore of etcd, versions are assigned again. A stream that has not noticed yet must not
// make the store take new states for old ones.
func TestRestoreWhileScopesJoin(t *testing.T) {
	for _, sharded := range []bool{false, true} {
		t.Run(fmt.Sprintf("server with shards: %v", sharded), func(t *testing.T) {
			runScoped(t, func(i *scopedInformer) {
				i.server.SetShardedListAndWatch(sharded)
				i.server.Create(configMap("a/first"))
				backup := i.server.ResourceVersion()
				for n := range 50 {
					i.server.Create(configMap(fmt.Sprintf("a/%02d", n)))
				}
				synctest.Wait()
				_ = i.scopes.Add(ranges(4, 12)...)
				synctest.Wait() // the joined watch is open and idle
				i.server.Restore(backup)
				for n := range 10 {
					i.server.Create(configMap(fmt.Sprintf("a/%02d", 2*n), "after=restore"))
				}
				<-time.After(10 * time.Minute)
				for n := range 10 {
					i.server.Update(configMap(fmt.Sprintf("a/%02d", 2*n), "after=that"))
				}
				i.server.Delete("a/00")
				<-time.After(10 * time.Minute)
				i.expectServed(0, 12)
			}, ranges(0, 4)...)
		})
	}
}

// expectServed compares the store with the server's objects in a range.
func (i *scopedInformer) expectServed(from, to uint64) {
	i.t.Helper()
	i.expectServedAt(func(at uint64) bool { return from <= at && at < to })
}

// expectServedAt is expectServed for the sixteenths that isHeld accepts.
func (i *scopedInformer) expectServedAt(isHeld func(at uint64) bool) {
	i.t.Helper()
	list, err := i.server.List(i.t.Context(), metav1.ListOptions{})
	if err != nil {
		i.t.Fatal(err)
	}
	want := 0
	for _, obj := range list.(*corev1.ConfigMapList).Items {
		key := obj.Namespace + "/" + obj.Name
		if !isHeld(i.sixteenth(key)) {
			continue
		}
		want++
		held, ok := i.Store().GetByKey(key)
		if !ok || held.ResourceVersion != obj.ResourceVersion {
			i.t.Errorf("%s at %s: the store has %v", key, obj.ResourceVersion, held)
		}
	}
	if n := i.Store().Len(); n != want {
		i.t.Errorf("the store has %d objects, want %d", n, want)
	}
}

// A scope that the program may not list holds up neither the others nor the scopes added later.
func TestForbiddenScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var allowed atomic.Bool
		server := refusing(&allowed, "secret")
		server.Create(configMap("b/1"))
		scopes := cache.NewScopes(namespaces("a", "secret")...)
		failures := make(chan error, 100)
		informer := cache.NewSharedInformer(server, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{
			Scopes: scopes, ErrorHandler: func(_ context.Context, err error) { failures <- err },
		})
		ctx := t.Context()
		start(t, informer)
		secret, b := informer.InScope(cache.Scope{Namespace: "secret"}), informer.InScope(cache.Scope{Namespace: "b"})
		_ = scopes.Add(namespaces("b")...)
		if err := b.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if informer.HasSynced() || b.HealthCheck(cache.HealthOptions{})(nil) != nil {
			t.Errorf("synced: %v, b: %v", informer.HasSynced(), b.HealthCheck(cache.HealthOptions{})(nil))
		}
		status, err := secret.Status()
		if err != nil || status.Err == nil || informer.Status().Phase != cache.PhaseRetrying {
			t.Errorf("secret: %+v, %v; phase %s", status, err, informer.Status().Phase)
		}
		if err := secret.HealthCheck(cache.HealthOptions{})(nil); err == nil || !strings.Contains(err.Error(), `namespace "secret"`) {
			t.Errorf("health check of the refused scope: %v", err)
		}
		if err := <-failures; !strings.Contains(err.Error(), `namespace "secret"`) {
			t.Errorf("error: %v", err)
		}
		timeout, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		if err := informer.WaitForObject(timeout, server.Update(configMap("b/1"))); err != nil {
			t.Errorf("wait for an object of another scope: %v", err)
		}
		if err := informer.WaitForResourceVersion(timeout, server.ResourceVersion()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait for all scopes: %v", err)
		}
		allowed.Store(true)
		if err := secret.WaitForSync(ctx); err != nil {
			t.Errorf("allowed: %v", err)
		}
		synctest.Wait() // the informer is synced a moment after its last scope
		if !informer.HasSynced() {
			t.Error("allowed: not synced")
		}
		_ = scopes.Remove(namespaces("secret")...)
		synctest.Wait()
		if _, err := secret.Status(); !errors.Is(err, cache.ErrNoScope) {
			t.Errorf("status of a removed scope: %v", err)
		}
		if err := informer.WaitForObject(ctx, configMap("secret/1")); !errors.Is(err, cache.ErrNotSelected) {
			t.Errorf("wait for an object of a removed scope: %v", err)
		}
	})
}

// A server that lags behind the other scopes costs a list of the added scope, not of all.
func TestLaggingListOfAddedScopeIsNoRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewListerWatcher(&corev1.ConfigMap{})
		server.BookmarkEvery(time.Minute)
		lw := &rules{ListerWatcher: server, list: func(options metav1.ListOptions) error {
			if strings.Contains(options.LabelSelector, "env=new") && options.ResourceVersion != "" {
				return fake.TooLargeResourceVersion()
			}
			return nil
		}}
		for n := range 10 {
			server.Create(configMap(fmt.Sprintf("a/%d", n), fmt.Sprintf("env=e%d", n)))
		}
		scopes := cache.NewScopes()
		for n := range 10 {
			_ = scopes.Add(cache.Scope{LabelSelector: fmt.Sprintf("env=e%d", n)})
		}
		informer := runInformer(t, lw, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: scopes})
		lists := informer.Status().Requests.Lists
		_ = scopes.Add(cache.Scope{LabelSelector: "env=new"})
		<-time.After(time.Hour)
		if now := informer.Status().Requests.Lists; now > lists+3 {
			t.Errorf("%d lists, of which %d before", now, lists)
		}
	})
}
