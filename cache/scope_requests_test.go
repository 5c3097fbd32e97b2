// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
)

// requestsSince returns the requests of a verb, without the first n requests.
func (i *scopedInformer) requestsSince(n int, verb string) (requests []metav1.ListOptions) {
	for _, request := range i.server.Requests()[n:] {
		if request.Verb == verb {
			requests = append(requests, request.Options)
		}
	}
	return requests
}

// A request has up to 16 ranges, as the selector is part of its URL.
func TestManyRangesAreSeveralRequests(t *testing.T) {
	var scopes []cache.Scope
	for n := range uint64(20) {
		scopes = append(scopes, cache.Scope{Hash: cache.HashRange{Field: cache.HashUID, First: n << 59, Last: n<<59 | 1<<58}})
	}
	runScoped(t, func(i *scopedInformer) {
		i.server.SetShardedListAndWatch(true)
		before := len(i.server.Requests())
		if err := i.scopes.Add(scopes...); err != nil {
			i.t.Fatal(err)
		}
		<-time.After(4 * time.Minute) // watches last 5 minutes at least
		lists := i.requestsSince(before, "list")
		if len(lists) != 2 {
			i.t.Errorf("%d lists, want 2", len(lists))
		}
		for _, list := range lists {
			if n := strings.Count(list.ShardSelector, "shardRange"); n == 0 || n > 16 {
				i.t.Errorf("a list of %d ranges", n)
			}
		}
		if n := i.server.OpenWatches(); n != 2 {
			i.t.Errorf("%d watches are open, want 2", n)
		}
	})
}

// A cache of the server that is behind the informer would bring deleted objects back.
func TestAddedScopeIsListedNotOlderThanOthers(t *testing.T) {
	runScoped(t, func(i *scopedInformer) {
		for n := range 20 {
			i.server.Create(configMap(fmt.Sprintf("a/%d", n)))
			i.server.Delete(fmt.Sprintf("a/%d", n))
		}
		synctest.Wait()
		i.server.Bookmark()
		synctest.Wait()
		reached := i.server.ResourceVersion()
		before := len(i.server.Requests())
		if err := i.scopes.Add(ranges(8, 12)...); err != nil {
			i.t.Fatal(err)
		}
		synctest.Wait()
		lists := i.requestsSince(before, "list")
		if len(lists) != 1 || lists[0].ResourceVersion != reached || lists[0].ResourceVersionMatch != "" {
			i.t.Errorf("lists: %+v, want one from %q", lists, reached)
		}
	}, ranges(0, 8)...)
}

// A namespace has no keys in common with another, so that any version is good enough.
func TestAddedNamespaceIsListedFromCache(t *testing.T) {
	runScoped(t, func(i *scopedInformer) {
		before := len(i.server.Requests())
		_ = i.scopes.Add(namespaces("b")...)
		synctest.Wait()
		if lists := i.requestsSince(before, "list"); len(lists) != 1 || lists[0].ResourceVersion != "0" {
			i.t.Errorf("lists: %+v", lists)
		}
	}, namespaces("a")...)
}

// A program that removes a scope and adds it again, without a pause, wants its objects delivered
// again.
func TestScopeIsRemovedAndAddedAgain(t *testing.T) {
	runScoped(t, func(i *scopedInformer) {
		i.server.Create(configMap("a/1"))
		i.server.Create(configMap("b/1"))
		i.expect("Add a/1", "Add b/1")
		for range 2 {
			_ = i.scopes.Remove(namespaces("a")...)
			_ = i.scopes.Add(namespaces("a")...)
			i.expect("Add a/1 initial", "Delete a/1 left")
		}
		i.expectStored("a/1", "b/1")
	}, namespaces("a", "b")...)
}

// The ranges that take the place of two that are being joined have one watch, too.
func TestRangesAreJoinedAfterAnInterruptedJoin(t *testing.T) {
	for range 20 {
		runScoped(t, func(i *scopedInformer) {
			i.server.SetShardedListAndWatch(true)
			_ = i.scopes.Add(ranges(8, 12)...)
			synctest.Wait() // a joined watch is open, but has received nothing yet
			_ = i.scopes.Add(ranges(0, 4)...)
			synctest.Wait()
			_ = i.scopes.Set(ranges(0, 4, 6, 8, 8, 16)...)
			<-time.After(30 * time.Minute)
			synctest.Wait() // a watch may have ended just now
			if n := i.server.OpenWatches(); n != 1 {
				i.t.Errorf("%d watches are open, want 1", n)
			}
		}, ranges(4, 8)...)
	}
}

// Each name of a namespace is listed and watched by requests for that name alone.
func TestScopesOfNamesRequestTheirNames(t *testing.T) {
	name := func(n int) cache.Scope {
		return cache.Scope{Namespace: "a", FieldSelector: fmt.Sprintf("metadata.name=%d", n)}
	}
	runScoped(t, func(i *scopedInformer) {
		for n := range 4 { // no scope has the last one
			i.server.Create(configMap(fmt.Sprintf("a/%d", n)))
		}
		held := make(map[int]bool)
		change := func(change func(...cache.Scope) error, event string, numbers ...int) {
			i.t.Helper()
			var scopes []cache.Scope
			var events, names []string
			for _, n := range numbers {
				scopes = append(scopes, name(n))
				events = append(events, fmt.Sprintf(event, n))
				if held[n] = !held[n]; held[n] {
					names = append(names, fmt.Sprintf("metadata.name=%d,metadata.namespace=a", n))
				} else {
					delete(held, n)
				}
			}
			before := len(i.server.Requests())
			if err := change(scopes...); err != nil {
				i.t.Fatal(err)
			}
			i.expect(events...)
			for _, verb := range []string{"list", "watch"} {
				var got []string
				for _, options := range i.requestsSince(before, verb) {
					got = append(got, options.FieldSelector)
				}
				if slices.Sort(got); !slices.Equal(got, names) {
					i.t.Errorf("%v: %s requests for %q, want %q", numbers, verb, got, names)
				}
			}
			if n := i.server.OpenWatches(); n != len(held) {
				i.t.Errorf("%v: %d watches are open, want %d", numbers, n, len(held))
			}
		}
		const added, left = "Add a/%d initial", "Delete a/%d left"
		for n := range 3 {
			change(i.scopes.Add, added, n)
		}
		i.server.Update(configMap("a/3"))
		i.server.Update(configMap("a/1"))
		i.expect("Update a/1")
		for n := range 3 {
			change(i.scopes.Remove, left, n)
		}
		change(i.scopes.Add, added, 0, 1, 2)
		change(i.scopes.Remove, left, 0, 2)
		i.expectStored("a/1")
		change(i.scopes.Add, added, 2)
		change(i.scopes.Remove, left, 1, 2)
		i.expectStored()
	})
}
