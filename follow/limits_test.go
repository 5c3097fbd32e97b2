// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/metadata"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/follow"
)

// requestTimes records when the requests for resources are made.
type requestTimes struct {
	mu   sync.Mutex // guards each
	each map[string][]time.Time
}

// record makes the server record requests for resources of group example.com, by resource and
// namespace.
func (r *requestTimes) record(h *harness) {
	r.each = make(map[string][]time.Time)
	h.server.InjectFault(-1, func(request fake.APIRequest) bool {
		if request.Group == "example.com" {
			r.mu.Lock()
			defer r.mu.Unlock()
			name := request.Resource + "/" + request.Namespace
			r.each[name] = append(r.each[name], time.Now())
		}
		return false
	}, fake.Fault{})
}

// check checks the number of requests for each resource within any minute and any three.
func (r *requestTimes) check(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.each) == 0 {
		t.Error("no requests")
	}
	for name, times := range r.each {
		for window, limit := range map[time.Duration]int{time.Minute: 22, 3 * time.Minute: 46} {
			for first, n := 0, 0; n < len(times); n++ {
				for times[n].Sub(times[first]) >= window {
					first++
				}
				if got := n - first + 1; got > limit {
					t.Errorf("%d requests for %s within %v, want at most %d", got, name, window, limit)
					break
				}
			}
		}
	}
}

// Informers of a resource that comes and goes every few seconds keep the limits of requests, those
// that follow.All makes one after another together. In the end they follow it.
func TestResourceThatComesAndGoesKeepsTheLimits(t *testing.T) {
	redefine := func(h *harness, _ *unstructured.Unstructured, present bool) {
		if !present {
			noError(h.t, h.server.Delete(definition()))
			return
		}
		h.define("Widget", "v1", "v2")
		h.create("v1", "Widget", "a")
	}
	runInformer := func(options cache.InformerOptions[metaObject]) func(h *harness) func() string {
		return func(h *harness) func() string {
			options.Served, options.ErrorHandler = h.follower.Resource(widgets), func(context.Context, error) {}
			example := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Widget"}}
			informer := cache.NewSharedInformer(cache.ListWatchByNamespace(func(namespace string) metadata.ResourceInterface {
				return h.client.Resource(widgets).Namespace(namespace)
			}), example, options)
			h.start(h.follower.Run, informer.Run)
			return func() string { return fmt.Sprint(informer.Status().Phase, " ", informer.Store().Len()) }
		}
	}
	runAll := func(change func(o *follow.AllOptions[metaObject])) func(h *harness) func() string {
		return func(h *harness) func() string {
			options := h.options(ofExample)
			options.Informer.ErrorHandler = func(context.Context, error) {}
			if change != nil {
				change(&options)
			}
			h.all = h.run(options)
			return func() string {
				statuses := h.all.Status()
				if len(statuses) != 1 {
					return fmt.Sprint(followed(h.all))
				}
				return fmt.Sprint(statuses[0].Informer.Phase, " ", statuses[0].Informer.Store.Objects)
			}
		}
	}
	var unselected atomic.Bool
	forbid := func(h *harness, crd *unstructured.Unstructured, present bool) {
		if redefine(h, crd, present); !present {
			h.server.InjectFault(1, of("widgets"), fake.Fault{Err: fake.Forbidden()})
		}
	}
	for name, row := range map[string]struct {
		every  time.Duration
		change func(h *harness, crd *unstructured.Unstructured, present bool) // makes the resource leave, or come back
		run    func(h *harness) (state func() string)
	}{
		"an informer":               {4 * time.Second, redefine, runInformer(cache.InformerOptions[metaObject]{})},
		"a WatchList":               {4 * time.Second, redefine, runInformer(cache.InformerOptions[metaObject]{WatchList: true})},
		"a first list of any state": {2 * time.Second, redefine, runInformer(cache.InformerOptions[metaObject]{StartAny: true})},
		"scopes":                    {4 * time.Second, redefine, runInformer(cache.InformerOptions[metaObject]{Scopes: cache.NewScopes(cache.Scope{Namespace: "ns"}, cache.Scope{Namespace: "other"})})},
		"all":                       {4 * time.Second, redefine, runAll(nil)},
		"all, a second each":        {time.Second, redefine, runAll(nil)},
		"all, nine seconds each":    {9 * time.Second, redefine, runAll(nil)},
		"all, forbidden at first":   {6 * time.Second, forbid, runAll(nil)},
		"all, a version of the group": {4 * time.Second, func(h *harness, crd *unstructured.Unstructured, present bool) {
			h.setVersions(crd, map[bool]string{true: "v1", false: "v2"}[present])
		}, runAll(nil)},
		"all, the preferred version": {4 * time.Second, func(h *harness, crd *unstructured.Unstructured, present bool) {
			h.setVersions(crd, map[bool][]string{true: {"v1"}, false: {"v1", "v2"}}[present]...)
		}, runAll(func(o *follow.AllOptions[metaObject]) {
			o.Select = func(r follow.Resource) bool { return ofExample(r) && r.Preferred }
		})},
		"all, selected by the program": {4 * time.Second, func(h *harness, _ *unstructured.Unstructured, present bool) {
			unselected.Store(!present)
			h.all.Reselect()
		}, runAll(func(o *follow.AllOptions[metaObject]) {
			o.Select = func(r follow.Resource) bool { return ofExample(r) && !unselected.Load() }
		})},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, h *harness) {
				var requests requestTimes
				requests.record(h)
				crd := h.define("Widget", "v1", "v2")
				h.create("v1", "Widget", "a")
				state := row.run(h)
				after(5 * time.Second)
				for began := time.Now(); time.Since(began) < 4*time.Minute; {
					row.change(h, crd, false)
					after(row.every)
					row.change(h, crd, true)
					after(row.every)
				}
				h.server.ClearFaults()
				after(90 * time.Second)
				if got := state(); got != "Watching 1" {
					t.Errorf("%s after 90 s without a change, want an informer that watches one object", got)
				}
				requests.check(t)
			})
		})
	}
}

// Resources whose requests are limited do not delay the first lists of others.
func TestLimitedResourcesDoNotDelayOthers(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		for i := range 10 {
			h.define(fmt.Sprint("Widget", i), "v1")
		}
		h.define("Gadget", "v1")
		var selected atomic.Value // a prefix
		selected.Store("")
		all := h.run(h.options(func(r follow.Resource) bool {
			return ofExample(r) && strings.HasPrefix(r.Resource, selected.Load().(string))
		}))
		for _, prefix := range slices.Repeat([]string{"widget", "none"}, 10) {
			selected.Store(prefix)
			all.Reselect()
			after(time.Second)
		}
		selected.Store("")
		all.Reselect()
		after(time.Second)
		waiting := 0
		for _, status := range all.Status() {
			if status.Err != nil {
				waiting++
			}
		}
		if got := followed(all); waiting != 10 || got[0] != "example.com/v1 gadgets" {
			t.Errorf("%d resources wait, want 10, and gadgets listed: %q", waiting, got)
		}
		after(time.Minute)
		wantSynced(t, all.Status())
	})
}
