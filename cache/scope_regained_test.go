// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// A replica loses a slot three times, and regains it before or after its informer has seen the
// removal. Each time costs a list and a watch of the slot alone. The watch of the other slots goes
// on until one joined watch takes its place, 10 s after the last join.
func TestSlotIsLostAndRegained(t *testing.T) {
	for name, lose := range map[string]func(i *scopedInformer, left []string) []string{
		"at once":           func(_ *scopedInformer, left []string) []string { return left },
		"after its removal": func(i *scopedInformer, left []string) []string { i.expect(left...); return nil },
		"after half of a second": func(i *scopedInformer, left []string) []string {
			<-time.After(500 * time.Millisecond)
			i.expect(left...)
			return nil
		},
	} {
		for _, sharded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, server with shards: %v", name, sharded), func(t *testing.T) {
				runJoining(t, 0, func(i *scopedInformer, server *joinServer) {
					server.SetShardedListAndWatch(sharded)
					testSlotIsLostAndRegained(i, server, lose)
				})
			})
		}
	}
}

// testSlotIsLostAndRegained calls lose after each removal. It returns which of the deletions of the
// slot's objects it has not compared with the events.
func testSlotIsLostAndRegained(i *scopedInformer, server *joinServer, lose func(i *scopedInformer, left []string) []string) {
	i.t.Helper()
	var ended atomic.Int64 // watches of several slots
	server.watch = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		if isJoined(options) {
			context.AfterFunc(ctx, func() { ended.Add(1) })
		}
		return server.ListerWatcher.Watch(ctx, options)
	}
	slot := ranges(8, 12)
	_ = i.scopes.Add(append(ranges(12, 16), slot...)...)
	synctest.Wait()
	i.updateAll(0, 16) // proves the joined watch
	if n := i.server.OpenWatches(); n != 1 {
		i.t.Fatalf("%d watches are open, want 1", n)
	}
	var left, added []string
	for n := range 50 {
		if key := fmt.Sprintf("a/%02d", n); i.sixteenth(key) >= 8 && i.sixteenth(key) < 12 {
			left, added = append(left, "Delete "+key+" left"), append(added, "Add "+key+" initial")
		}
	}
	before := len(i.server.Requests())
	for range 3 {
		_ = i.scopes.Remove(slot...)
		rest := lose(i, left)
		_ = i.scopes.Add(slot...)
		i.expect(slices.Concat(rest, added)...)
	}
	i.updateAll(0, 16)
	if n := ended.Load(); n != 0 {
		i.t.Errorf("%d watches of other slots have ended", n)
	}
	<-time.After(20 * time.Second)
	i.updateAll(0, 16)
	lists, watches := i.requestsSince(before, "list"), i.requestsSince(before, "watch")
	if len(lists) != 3 || slices.ContainsFunc(lists, isJoined) {
		i.t.Errorf("lists %+v, want 3 of the slot", lists)
	}
	joined := 0
	for _, options := range watches {
		if isJoined(options) {
			joined++
		}
	}
	if n := i.server.OpenWatches(); len(watches) != 4 || joined != 1 || n != 1 {
		i.t.Errorf("%d watches, of which %d are joined and %d are open; want 4, 1 and 1", len(watches), joined, n)
	}
	i.expectServedAt(func(at uint64) bool { return at < 4 || at >= 8 })
}

// A scope is removed and added again at once. The API server that is asked for its list lags: it
// answers with a state from before what the removed scope had reached, whose objects were deleted
// since, or refuses a list that must not be older than that. The next request is a consistent read.
func TestRegainedScopeIsNotListedFromALaggingServer(t *testing.T) {
	for name, scopes := range map[string][]cache.Scope{
		"a namespace": namespaces("a"), "a namespace beside another": namespaces("a", "b"),
		"all hashes": ranges(0, 16), "half of all hashes": ranges(0, 8, 8, 16),
	} {
		for _, isOlder := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, an older list: %v", name, isOlder), func(t *testing.T) {
				runScoped(t, func(i *scopedInformer) {
					for n := range 8 {
						i.server.Create(configMap(fmt.Sprintf("a/%d", n)))
					}
					fault := fake.Fault{Err: fake.TooLargeResourceVersion()}
					if isOlder {
						fault = fake.Fault{ResourceVersion: i.server.ResourceVersion()}
					}
					var left, added []string // of the first scope
					for n := range 8 {
						key := fmt.Sprintf("a/%d", n)
						switch isHeld := scopes[0].Hash.Field == "" || i.sixteenth(key) <= scopes[0].Hash.Last>>60; {
						case n < 4:
							i.server.Delete(key)
						case isHeld:
							left, added = append(left, "Delete "+key+" left"), append(added, "Add "+key+" initial")
						}
					}
					synctest.Wait()
					reached, before := i.server.ResourceVersion(), len(i.server.Requests())
					i.takeEvents()
					i.server.InjectListFault(1, fault)
					_ = i.scopes.Remove(scopes[0])
					_ = i.scopes.Add(scopes[0])
					i.expect(slices.Concat(left, added)...)
					lists := i.requestsSince(before, "list")
					if len(lists) != 2 || lists[0].ResourceVersion != reached || lists[1].ResourceVersion != "" {
						i.t.Errorf("lists %+v, want one not older than %s, and a consistent one", lists, reached)
					}
					i.server.Update(configMap("a/7"))
					i.expect("Update a/7")
					i.expectStored("a/4", "a/5", "a/6", "a/7")
				}, scopes...)
			})
		}
	}
}
