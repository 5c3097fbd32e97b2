// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/served"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

var errNoWidgets = apierrors.NewNotFound(schema.GroupResource{}, "")

func isWidgets(r fake.APIRequest) bool { return r.Resource == "widgets" }

// The replica of one informer answers for longer than that of another one after the definition's
// deletion. What the first one lists says nothing of the objects of the other one.
func TestDeletionIsKnownAlthoughAnotherInformerListsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := served.New(served.ErrNotServed)
		var servers [2]*fake.APIServer
		var informers [2]*cache.SharedInformer[*unstructured.Unstructured]
		var events []string
		for i := range servers {
			server := cachetest.StartAPIServer(t, fake.APIServerOptions{InMemory: true})
			if err := errors.Join(server.Create(widgetResource.Definition()), server.Create(newWidget("ns", "a", ""))); err != nil {
				t.Fatal(err)
			}
			servers[i] = server
			informers[i] = cache.NewSharedInformer(cache.ListWatchOf(widgetsOf(server.Config())), &unstructured.Unstructured{}, cache.InformerOptions[*unstructured.Unstructured]{
				Served: served.Publish(resource), ErrorHandler: func(context.Context, error) {},
			})
		}
		handle(t, informers[1], func(e cache.Event[*unstructured.Unstructured]) {
			events = append(events, fmt.Sprintf("%s left=%t", e.Type, e.LeftScope))
		})
		start(t, informers[0], informers[1])
		resource.Set(served.Served, nil)
		<-time.After(time.Second)
		// One error makes the second informer ask later than the first one, which is answered three
		// times.
		servers[1].InjectFault(1, isWidgets, fake.Fault{Err: apierrors.NewServiceUnavailable("x")})
		resource.Set(served.Gone, fmt.Errorf("deleted: %w", served.ErrNotServed))
		<-time.After(750 * time.Millisecond)
		servers[1].InjectFault(-1, isWidgets, fake.Fault{Err: errNoWidgets})
		<-time.After(5 * time.Minute)
		synctest.Wait()
		if !slices.Equal(events, []string{"Add left=false", "Delete left=false"}) {
			t.Errorf("got events %q, want an addition and a deletion", events)
		}
		if err := informers[1].Store().KeyError("ns/a"); err != nil {
			t.Errorf("Get: %v, want NotFound", err)
		}
	})
}

// A scope that is added empties the store, as a replica answers with 404. The scope that watches
// all the same must not watch on, for a state that is no longer there.
func TestScopeWhoseStateAnotherOneCleardIsListedAgain(t *testing.T) {
	scopes := cache.NewScopes(cache.Scope{Namespace: "ns"})
	runServed(t, cache.InformerOptions[*unstructured.Unstructured]{Scopes: scopes}, func(h *servedHarness) {
		h.do("create")
		h.do("served")
		h.do("not served") // which requests disprove
		<-time.After(time.Minute)
		h.server.InjectFault(-1, func(r fake.APIRequest) bool {
			return strings.Contains(r.HTTP.URL.RawQuery, "limit=1") || r.Namespace == "other"
		}, fake.Fault{Err: errNoWidgets})
		h.must(scopes.Add(cache.Scope{Namespace: "other"}))
		<-time.After(time.Minute)
		h.server.ClearFaults()
		<-time.After(2 * time.Hour)
		synctest.Wait()
		for _, status := range h.ScopeStatus() {
			if watches := status.Phase == cache.PhaseWatching; watches != status.Synced {
				h.Errorf("scope %v: phase %v, synced %t", status.Scope, status.Phase, status.Synced)
			}
		}
	})
}

// The scope of a deleted namespace waits until the objects are deleted, too. Once the resource is
// not served, it has nothing to wait for.
func TestScopeOfDeletedNamespaceIsRemovedFromCleardStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw, namespaces, scopes := namespaceScopes(t, blue)
		lw.Create(namespace("ns", "blue"))
		start(t, namespaces)
		runServedInBubble(t, cache.InformerOptions[*unstructured.Unstructured]{Scopes: scopes}, func(h *servedHarness) {
			h.do("create")
			h.do("served")
			lw.Delete("ns")
			synctest.Wait()
			if statuses := h.ScopeStatus(); len(statuses) != 1 || statuses[0].Store.Objects != 1 {
				h.Errorf("got scopes %+v, want one with an object", statuses)
			}
			h.server.InjectFault(-1, isWidgets, fake.Fault{Err: errNoWidgets})
			h.do("gone")
			if statuses := h.ScopeStatus(); len(statuses) > 0 {
				h.Errorf("got scopes %+v, want none", statuses)
			}
		})
	})
}
