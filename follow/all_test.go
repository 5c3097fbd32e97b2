// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2/ktesting"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/follow"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

type metaObject = *metav1.PartialObjectMetadata

// options returns options that follow the selected resources, and record events.
func (h *harness) options(selects func(follow.Resource) bool) follow.AllOptions[metaObject] {
	return follow.AllOptions[metaObject]{
		Select: selects,
		Client: func(gvr schema.GroupVersionResource) *cache.ListWatch {
			return cache.ListWatchOf(h.client.Resource(gvr))
		},
		Handler: func(r follow.Resource, event cache.Event[metaObject]) {
			h.mu.Lock()
			defer h.mu.Unlock()
			text := fmt.Sprintf("%s %s %s/%s", r.Resource, r.Version, event.Type, event.Object().Name)
			if event.LeftScope {
				text += " left"
			}
			h.events = append(h.events, text)
		},
	}
}

// takeEvents returns the events since the last call, sorted.
func (h *harness) takeEvents() []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	events := h.events
	h.events = nil
	slices.Sort(events)
	return events
}

func (h *harness) wantEvents(when string, want ...string) {
	h.t.Helper()
	if diff := cmp.Diff(want, h.takeEvents()); diff != "" {
		h.t.Errorf("events %s (-want +got):\n%s", when, diff)
	}
}

// run runs the follower and Informers until stop is called.
func (h *harness) run(options follow.AllOptions[metaObject]) *follow.Informers[metaObject] {
	h.t.Helper()
	all, err := follow.All(h.follower, options)
	noError(h.t, err)
	h.start(h.follower.Run, all.Run)
	after(5 * time.Second)
	return all
}

func ofExample(r follow.Resource) bool { return r.Group == "example.com" }

// followed returns the followed resources and their phases.
func followed(all *follow.Informers[metaObject]) []string {
	var texts []string
	for _, status := range all.Status() {
		text := fmt.Sprintf("%s %s", status.Resource.GroupVersionResource.GroupVersion(), status.Resource.Resource)
		switch {
		case status.Err != nil:
			text += ": " + string(apierrors.ReasonForError(status.Err))
		case status.Informer.Phase != cache.PhaseWatching:
			text += ": " + string(status.Informer.Phase)
		}
		texts = append(texts, text)
	}
	return texts
}

func wantFollowed(t *testing.T, when string, all *follow.Informers[metaObject], want ...string) {
	t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, followed(all)); diff != "" {
		t.Errorf("followed resources %s (-want +got):\n%s", when, diff)
	}
	if views := all.Views(); len(views) != len(want) {
		t.Errorf("got %d views %s, want %d", len(views), when, len(want))
	}
}

func wantSynced(t *testing.T, statuses []follow.ResourceStatus) {
	t.Helper()
	for _, status := range statuses {
		if !status.Informer.Synced {
			t.Errorf("%s has not synced: %v, %v", status.Resource.GroupVersionResource, status.Err, status.Informer.Err)
		}
	}
}

// wantNoneOwned checks that the follower has forgotten resources that have gone.
func (h *harness) wantNoneOwned() {
	h.t.Helper()
	if n := h.follower.Owned(); n != 0 {
		h.t.Errorf("the follower decides on %d resources that have gone", n)
	}
}

func TestAllFollowsSelectedResources(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		noError(t, h.server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}))
		all := h.run(h.options(func(r follow.Resource) bool {
			return r.Namespaced && slices.Contains(r.Subresources, "status") && r.Group == ""
		}))
		wantFollowed(t, "with a status", all, "v1 persistentvolumeclaims", "v1 pods", "v1 replicationcontrollers", "v1 resourcequotas", "v1 services")
		h.wantEvents("of pods", "pods v1 Add/a")
	})
}

// The objects are whole ones if their type is unstructured.
func TestAllFollowsUnstructuredObjects(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		noError(t, h.server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}, Data: map[string]string{"key": "value"}}))
		client, events := dynamic.NewForConfigOrDie(h.config), make(chan *unstructured.Unstructured, 1)
		all, err := follow.All(h.follower, follow.AllOptions[*unstructured.Unstructured]{
			Select:  func(r follow.Resource) bool { return r.Kind == "ConfigMap" },
			Client:  func(gvr schema.GroupVersionResource) *cache.ListWatch { return cache.ListWatchOf(client.Resource(gvr)) },
			Handler: func(_ follow.Resource, event cache.Event[*unstructured.Unstructured]) { events <- event.New },
		})
		noError(t, err)
		h.start(h.follower.Run, all.Run)
		got := <-events
		if value, _, _ := unstructured.NestedString(got.Object, "data", "key"); value != "value" || got.GetKind() != "ConfigMap" {
			t.Errorf("got %v, want the whole object", got.Object)
		}
		if status := all.Status(); len(status) != 1 || status[0].Informer.Store.PackedBytes == 0 {
			t.Errorf("got status %+v, want one informer with packed objects", status)
		}
	})
}

func TestAllFollowsSecretsAndEventsOnlyByName(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		options := h.options(func(r follow.Resource) bool {
			return slices.Contains([]string{"endpoints", "events", "secrets"}, r.Resource)
		})
		all := h.run(options)
		wantFollowed(t, "without names", all, "v1 endpoints")
		h.stop()

		h = newHarness(t, nil)
		options.Named = []schema.GroupResource{{Resource: "secrets"}, {Group: "events.k8s.io", Resource: "events"}}
		all = h.run(options)
		wantFollowed(t, "with names", all, "v1 endpoints", "v1 secrets", "events.k8s.io/v1 events")
	})
}

// Every object is added and deleted once, and nothing is left of a resource that has gone.
func TestAllFollowsResourcesThatComeAndGo(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		all := h.run(h.options(ofExample))
		wantFollowed(t, "before the first definition", all)
		var idle []string
		for range 3 {
			crd := h.define("Widget", "v1")
			after(2 * time.Second)
			h.create("v1", "Widget", "a")
			h.create("v1", "Widget", "b")
			wantFollowed(t, "after the definition was created", all, "example.com/v1 widgets")
			h.wantEvents("after the definition was created", "widgets v1 Add/a", "widgets v1 Add/b")
			noError(t, h.server.Delete(crd))
			after(10 * time.Second)
			wantFollowed(t, "after the definition was deleted", all)
			h.wantEvents("after the definition was deleted", "widgets v1 Delete/a", "widgets v1 Delete/b")
			h.wantNoneOwned()
			left := cachetest.BubbleGoroutines()
			if idle == nil {
				idle = left
			}
			if len(left) != len(idle) {
				t.Errorf("got %d goroutines after the second deletion, %d after the first:\n%s", len(left), len(idle), strings.Join(left, "\n\n"))
			}
		}
		h.stop()
		if n := h.logged("widgets"); n != 0 {
			t.Errorf("got %d lines in the log of resources that come and go, want none:\n%s", n, h.logger.GetSink().(ktesting.Underlier).GetBuffer().String())
		}
	})
}

// Run ends everything, without deletions, also while lists and handlers are blocked.
func TestAllEndsWithItsContext(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		idle := len(cachetest.BubbleGoroutines())
		for i := range 7 {
			h.define(fmt.Sprint("Widget", i), "v1")
			h.create("v1", fmt.Sprint("Widget", i), "a")
		}
		isList := func(r fake.APIRequest) bool { return r.Verb == "list" && r.Group == "example.com" }
		h.server.InjectFault(1, isList, fake.Fault{Err: fake.Forbidden()})
		h.server.InjectFault(-1, func(r fake.APIRequest) bool { return isList(r) && r.Resource > "widget3s" }, fake.Fault{Stall: true})
		all := h.run(h.options(ofExample))
		h.stop()
		if n := len(all.Views()) + len(all.Status()) + h.follower.Owned(); n != 0 {
			t.Errorf("got %d views, statuses and resources of the follower after Run, want none", n)
		}
		for _, event := range h.takeEvents() {
			if strings.Contains(event, "Delete") {
				t.Errorf("got event %q", event)
			}
		}
		if left := cachetest.BubbleGoroutines(); len(left) != idle {
			t.Errorf("got %d goroutines after Run, want %d:\n%s", len(left), idle, strings.Join(left, "\n\n"))
		}
	})
}

// All resources of a server that can be listed and watched can be followed.
func TestAllFollowsEveryResource(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		all := h.run(h.options(func(follow.Resource) bool { return true }))
		statuses := all.Status()
		if len(statuses) < 50 {
			t.Errorf("got %d resources, want all", len(statuses))
		}
		wantSynced(t, statuses)
	})
}

// At most five resources are listed at a time. A list that fails does not hold others up.
func TestAllBoundsFirstLists(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		definitions := make(map[string]*unstructured.Unstructured)
		for i := range 30 {
			crd := h.define(fmt.Sprintf("Widget%02d", i), "v1")
			definitions[crd.GetName()] = crd
		}
		var mu sync.Mutex
		listed := make(map[string]bool)
		hold := make(chan struct{})
		h.server.InjectFault(-1, func(r fake.APIRequest) bool {
			if r.Verb != "list" || r.Group != "example.com" {
				return false
			}
			mu.Lock()
			defer mu.Unlock()
			listed[r.Resource] = true
			return true
		}, fake.Fault{Hold: hold, Err: fake.InternalError()})
		all := h.run(h.options(ofExample))
		count := func() int {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return len(listed)
		}
		if n := count(); n != 5 {
			t.Errorf("got lists of %d resources at a time, want 5", n)
		}
		var waiting []string
		for _, status := range all.Status() {
			if status.Err != nil {
				waiting = append(waiting, status.Resource.GroupResource().String())
			}
		}
		if len(waiting) != 25 {
			t.Fatalf("got %d resources that wait, want 25", len(waiting))
		}
		noError(t, h.server.Delete(definitions[waiting[0]]))
		after(2 * time.Second)
		if n := len(all.Status()); n != 29 {
			t.Errorf("got %d resources after one that waited has gone, want 29", n)
		}
		close(hold)
		after(time.Second)
		if n := count(); n != 29 {
			t.Errorf("got lists of %d resources after the first ones failed, want 29", n)
		}
		h.server.ClearFaults()
		after(time.Minute)
		wantSynced(t, all.Status())
	})
}

// A resource that may not be listed is requested again every five minutes, and logged once.
func TestAllAsksAgainWhereForbidden(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		h.define("Widget", "v1")
		h.create("v1", "Widget", "a")
		var requests atomic.Int32
		h.server.InjectFault(-1, func(r fake.APIRequest) bool {
			isWidgets := r.Resource == "widgets"
			if isWidgets {
				requests.Add(1)
			}
			return isWidgets
		}, fake.Fault{Err: fake.Forbidden()})
		all := h.run(h.options(ofExample))
		first := requests.Load()
		after(time.Hour)
		if n := requests.Load() - first; n != 12 {
			t.Errorf("got %d requests in an hour, want 12", n)
		}
		if diff := cmp.Diff([]string{"example.com/v1 widgets: Forbidden"}, followed(all)); diff != "" {
			t.Errorf("followed resources (-want +got):\n%s", diff)
		}
		if n := h.logged("Forbidden"); n > 1 {
			t.Errorf("got %d lines in the log, want one at most", n)
		}
		h.server.ClearFaults()
		after(5 * time.Minute)
		wantFollowed(t, "once it is permitted", all, "example.com/v1 widgets")
		h.wantEvents("once it is permitted", "widgets v1 Add/a")
	})
}

// A forbidden resource that goes is not requested any more.
func TestAllForgetsForbiddenResourceThatGoes(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		crd := h.define("Widget", "v1")
		h.server.InjectFault(-1, of("widgets"), fake.Fault{Err: fake.Forbidden()})
		all := h.run(h.options(ofExample))
		noError(t, h.server.Delete(crd))
		after(5 * time.Second)
		wantFollowed(t, "after the deletion", all)
		h.wantNoneOwned()
	})
}

// An informer keeps its version while it is served, although the server prefers another one. Then
// the objects leave, and come back in the version that the server prefers.
func TestAllKeepsVersionAsLongAsItIsServed(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		crd := h.define("Widget", "v1", "v2")
		h.setVersions(crd, "v1")
		h.create("v1", "Widget", "a")
		all := h.run(h.options(ofExample))
		h.wantEvents("of the first version", "widgets v1 Add/a")
		h.setVersions(crd, "v1", "v2")
		wantFollowed(t, "with two versions", all, "example.com/v1 widgets")
		h.wantEvents("with two versions")
		h.setVersions(crd, "v2")
		after(10 * time.Second)
		wantFollowed(t, "with the second version", all, "example.com/v2 widgets")
		h.wantEvents("with the second version", "widgets v1 Delete/a left", "widgets v2 Add/a")
	})
}

// With a Select that requires the preferred version, an informer of another version ends.
func TestAllChangesVersionIfSelectDoes(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		crd := h.define("Widget", "v1", "v2")
		h.setVersions(crd, "v1")
		h.create("v1", "Widget", "a")
		all := h.run(h.options(func(r follow.Resource) bool { return ofExample(r) && r.Preferred }))
		h.wantEvents("of the first version", "widgets v1 Add/a")
		h.setVersions(crd, "v1", "v2")
		wantFollowed(t, "with two versions", all, "example.com/v2 widgets")
		h.wantEvents("with two versions", "widgets v1 Delete/a left", "widgets v2 Add/a")
	})
}

// A resource that Select no longer selects leaves, whether or not it is synced.
func TestAllEndsInformerOfUnselectedResource(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		h.define("Widget", "v1")
		h.create("v1", "Widget", "a")
		h.define("Gadget", "v1")
		h.server.InjectFault(-1, of("gadgets"), fake.Fault{Stall: true})
		var unselected atomic.Bool
		all := h.run(h.options(func(r follow.Resource) bool { return ofExample(r) && !unselected.Load() }))
		h.wantEvents("while it is selected", "widgets v1 Add/a")
		unselected.Store(true)
		all.Reselect()
		after(time.Second)
		wantFollowed(t, "without a selected resource", all)
		h.wantEvents("after it was selected", "widgets v1 Delete/a left")
		unselected.Store(false)
		all.Reselect()
		after(time.Second)
		wantFollowed(t, "once they are selected again", all, "example.com/v1 gadgets: Listing", "example.com/v1 widgets")
		h.wantEvents("once it is selected again", "widgets v1 Add/a")
	})
}

// blocked makes a handler block until hold is closed.
func blocked(options follow.AllOptions[metaObject]) (_ follow.AllOptions[metaObject], hold chan struct{}) {
	record, hold := options.Handler, make(chan struct{})
	options.Handler = func(r follow.Resource, event cache.Event[metaObject]) {
		<-hold
		record(r, event)
	}
	return options, hold
}

// A blocked handler receives all deletions before the informer ends, and before that of another
// version starts.
func TestAllWaitsForHandler(t *testing.T) {
	for name, row := range map[string]struct {
		change func(h *harness, crd *unstructured.Unstructured)
		then   []string // the resources that are followed once the handler has returned
		events []string
	}{
		"deleted": {
			func(h *harness, crd *unstructured.Unstructured) { noError(h.t, h.server.Delete(crd)) },
			nil, []string{"widgets v1 Add/a", "widgets v1 Delete/a"},
		},
		"another version": {
			func(h *harness, crd *unstructured.Unstructured) { h.setVersions(crd, "v2") },
			[]string{"example.com/v2 widgets"}, []string{"widgets v1 Add/a", "widgets v1 Delete/a left", "widgets v2 Add/a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, h *harness) {
				crd := h.define("Widget", "v1", "v2")
				h.setVersions(crd, "v1")
				h.create("v1", "Widget", "a")
				options, hold := blocked(h.options(ofExample))
				all := h.run(options)
				row.change(h, crd)
				after(11 * time.Minute) // the longest interval of discovery, and a minute
				wantFollowed(t, "while the handler is blocked", all, "example.com/v1 widgets: NotServed")
				close(hold)
				synctest.Wait() // no time passes: nothing is polled
				wantFollowed(t, "once the handler has returned", all, row.then...)
				h.wantEvents("once the handler has returned", row.events...)
			})
		})
	}
}

// An informer of a resource without objects, too, ends only once the server confirms that it is
// gone.
func TestAllKeepsInformerUntilConfirmed(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		crd := h.define("Widget", "v1")
		all := h.run(h.options(ofExample))
		h.server.InjectFault(-1, of("widgets"), fake.Fault{Err: fake.InternalError()})
		noError(t, h.server.Delete(crd))
		after(10 * time.Second)
		wantFollowed(t, "while the server does not confirm", all, "example.com/v1 widgets: Retrying")
		h.server.ClearFaults()
		after(time.Minute)
		wantFollowed(t, "once the server confirms", all)
	})
}

// A resource that returns before its deletions were delivered keeps its informer.
func TestAllKeepsInformerOfResourceThatReturnsSoon(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		crd := h.define("Widget", "v1")
		h.create("v1", "Widget", "a")
		options, hold := blocked(h.options(ofExample))
		all := h.run(options)
		before := all.Views()[0].ID()
		noError(t, h.server.Delete(crd))
		after(10 * time.Second)
		h.define("Widget", "v1")
		h.create("v1", "Widget", "b")
		after(10 * time.Second)
		wantFollowed(t, "after the resource has returned", all, "example.com/v1 widgets")
		close(hold)
		after(time.Second)
		h.wantEvents("once the handler has returned", "widgets v1 Add/a", "widgets v1 Add/b", "widgets v1 Delete/a")
		if got := all.Views()[0].ID(); got != before {
			t.Error("got another informer, want the same one")
		}
	})
}

func TestAllFollowsServerWithoutAggregatedDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, func(config *rest.Config) {
			config.Wrap(withoutAggregation)
		})
		all := h.run(h.options(func(r follow.Resource) bool { return ofExample(r) && slices.Contains(r.Subresources, "status") }))
		crd := h.define("Widget", "v1")
		after(2 * time.Second)
		h.create("v1", "Widget", "a")
		wantFollowed(t, "after the definition was created", all, "example.com/v1 widgets")
		noError(t, h.server.Delete(crd))
		after(10 * time.Second)
		wantFollowed(t, "after the definition was deleted", all)
		h.wantEvents("of all", "widgets v1 Add/a", "widgets v1 Delete/a")
	})
}

// Invalid options are errors of All.
func TestAllReportsInvalidOptions(t *testing.T) {
	valid, follower := (&harness{}).options(ofExample), follow.New(nil, nil, follow.Options{})
	for name, change := range map[string]func(*follow.AllOptions[metaObject]){
		"Select":  func(o *follow.AllOptions[metaObject]) { o.Select = nil },
		"Client":  func(o *follow.AllOptions[metaObject]) { o.Client = nil },
		"Handler": func(o *follow.AllOptions[metaObject]) { o.Handler = nil },
		"Name":    func(o *follow.AllOptions[metaObject]) { o.Informer.Name = "a" },
		"Scopes":  func(o *follow.AllOptions[metaObject]) { o.Informer.Scopes = cache.NewScopes() },
		"Served": func(o *follow.AllOptions[metaObject]) {
			o.Informer.Served = follower.Resource(schema.GroupVersionResource{})
		},
	} {
		options := valid
		change(&options)
		if _, err := follow.All(follower, options); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want an error that names it", name, err)
		}
	}
	if _, err := follow.All(nil, valid); err == nil {
		t.Error("got no error of a nil follower")
	}
	all, err := follow.All(follower, valid)
	noError(t, err)
	if err := all.Run(t.Context()); err == nil {
		t.Error("got no error of Run with an invalid follower")
	}
}

// An informer that cannot run ends all.
func TestAllReportsInformerThatCannotRun(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		options := h.options(ofExample)
		options.Client = func(schema.GroupVersionResource) *cache.ListWatch { return nil }
		all, err := follow.All(h.follower, options)
		noError(t, err)
		h.define("Widget", "v1")
		if err := cache.RunAll(t.Context(), h.follower.Run, all.Run); err == nil || !strings.Contains(err.Error(), "widgets.example.com: the ListerWatcher is nil") {
			t.Errorf("got %v, want an error that names the resource", err)
		}
		if err := all.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "Run was called before") {
			t.Errorf("got %v of a second Run, want an error that says so", err)
		}
	})
}

// A follower that may not watch definitions still follows what discovery lists, and ends nothing.
func TestAllWithoutPermissionToWatchDefinitions(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		crd := h.define("Widget", "v1")
		h.create("v1", "Widget", "a")
		h.server.InjectFault(-1, of("customresourcedefinitions"), fake.Fault{Err: fake.Forbidden()})
		all := h.run(h.options(ofExample))
		wantFollowed(t, "without permission", all, "example.com/v1 widgets")
		noError(t, h.server.Delete(crd))
		after(time.Hour)
		wantFollowed(t, "after the deletion", all, "example.com/v1 widgets: Retrying")
		if err := h.follower.Status().Err; !apierrors.IsForbidden(err) {
			t.Errorf("got %v in the follower's status, want Forbidden", err)
		}
	})
}

// All definitions of a cluster that are created at once are followed within seconds.
func TestAllFollowsManyResourcesInstalledAtOnce(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		const n = 300
		all := h.run(h.options(ofExample))
		for i := range n {
			h.define(fmt.Sprintf("Widget%03d", i), "v1")
		}
		after(5 * time.Second)
		statuses := all.Status()
		if got := len(statuses); got != n {
			t.Errorf("got %d informers 5 s after the definitions, want %d", got, n)
		}
		wantSynced(t, statuses)
	})
}
