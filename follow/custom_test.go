// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/follow"
)

// recordCustom returns options that follow a resource, by its name, and a function that returns the
// values of Resource.CustomResource that Select, Handler and Status have had since the last call,
// without repetitions.
func (h *harness) recordCustom(resource string) (_ follow.AllOptions[metaObject], values func() []string) {
	var seen []string // guarded by h.mu
	record := func(by string, r follow.Resource) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if text := fmt.Sprintf("%s %s %v", by, r.Version, r.CustomResource); !slices.Contains(seen, text) {
			seen = append(seen, text)
		}
	}
	options := h.options(func(r follow.Resource) bool {
		if r.Resource == resource {
			record("Select", r)
		}
		return r.Resource == resource
	})
	options.Handler = func(r follow.Resource, _ cache.Event[metaObject]) { record("Handler", r) }
	return options, func() []string {
		for _, status := range h.all.Status() {
			record("Status", status.Resource)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		values := seen
		seen = nil
		return values
	}
}

func wantValues(t *testing.T, when string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values of CustomResource %s (-want +got):\n%s", when, diff)
	}
}

// aggregate serves a resource of group example.com as an aggregated API server does.
func (h *harness) aggregate(kind, version string) {
	h.t.Helper()
	noError(h.t, h.server.Aggregate(fake.CustomResource{Group: "example.com", Versions: []string{version}, Kind: kind}))
}

// isDiscovery selects discovery requests.
func isDiscovery(r fake.APIRequest) bool { return r.HTTP.URL.Path == "/apis" }

// hold blocks the selected requests until release is called.
func (h *harness) hold(selects func(fake.APIRequest) bool) (release func()) {
	hold := make(chan struct{})
	h.server.InjectFault(-1, selects, fake.Fault{Hold: hold})
	return func() {
		h.server.ClearFaults()
		close(hold)
	}
}

// CustomResource is right from the first call of Select and the first event on, for resources that
// exist before the follower starts and for those that are created later.
func TestCustomResourceIsThatOfTheFirstEvent(t *testing.T) {
	defineWidget := func(h *harness) { h.define("Widget", "v1") }
	for name, row := range map[string]struct {
		resource string
		serve    func(h *harness)
		want     string
		change   func(*rest.Config)
	}{
		"built-in":   {"pods", func(*harness) {}, "v1 false", nil},
		"custom":     {"widgets", defineWidget, "v1 true", nil},
		"aggregated": {"widgets", func(h *harness) { h.aggregate("Widget", "v1") }, "v1 false", nil},
		"aggregated, and a definition of the group": {"widgets", func(h *harness) {
			h.aggregate("Widget", "v1")
			h.define("Gadget", "v2")
		}, "v1 false", nil},
		"aggregated, and its definition": {"widgets", func(h *harness) {
			h.aggregate("Widget", "v1")
			h.define("Widget", "v1")
		}, "v1 false", nil},
		"custom, and an aggregated version of the group": {"widgets", func(h *harness) {
			h.aggregate("Gadget", "v2")
			h.define("Widget", "v1")
		}, "v1 true", nil},
		"custom, without aggregated discovery": {"widgets", defineWidget, "v1 true", func(config *rest.Config) { config.Wrap(withoutAggregation) }},
	} {
		create := func(h *harness) {
			row.serve(h)
			if row.resource == "pods" {
				noError(h.t, h.server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}))
			} else {
				h.create("v1", "Widget", "a")
			}
		}
		for when, isLate := range map[string]bool{"before the follower": false, "later": true} {
			t.Run(name+" "+when, func(t *testing.T) {
				inBubble(t, row.change, func(t *testing.T, h *harness) {
					options, values := h.recordCustom(row.resource)
					if !isLate {
						create(h)
					}
					h.all = h.run(options)
					if isLate {
						release := h.hold(isDiscovery) // until the follower has received the definition
						create(h)
						synctest.Wait()
						release()
						after(5 * time.Second)
					}
					got := values()
					slices.Sort(got)
					wantValues(t, "of "+row.resource, got, "Handler "+row.want, "Select "+row.want, "Status "+row.want)
				})
			})
		}
	}
}

// Without the permission to list definitions, CustomResource is false, and resources are followed
// all the same. Once the permission is granted, Select, Handler and Status have the right value.
func TestCustomResourceWithoutPermission(t *testing.T) {
	for _, resource := range []string{"customresourcedefinitions", "apiservices"} {
		t.Run(resource, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, h *harness) {
				h.define("Widget", "v1")
				h.create("v1", "Widget", "a")
				h.server.InjectFault(-1, of(resource), fake.Fault{Err: fake.Forbidden()})
				options, values := h.recordCustom("widgets")
				h.all = h.run(options)
				wantFollowed(t, "without permission", h.all, "example.com/v1 widgets")
				wantValues(t, "without permission", values(), "Select v1 false", "Handler v1 false", "Status v1 false")
				h.server.ClearFaults()
				after(5 * time.Minute)
				values()
				h.create("v1", "Widget", "b")
				h.all.Reselect()
				after(time.Second)
				got := values()
				slices.Sort(got)
				wantValues(t, "with permission", got, "Handler v1 true", "Select v1 true", "Status v1 true")
				h.server.InjectFault(-1, of(resource), fake.Fault{Err: fake.Forbidden()})
				h.all.Reselect()
				after(10 * time.Minute)
				wantValues(t, "after the permission was revoked", values(), "Select v1 true", "Status v1 true")
			})
		})
	}
}

// If discovery lists a resource before the event of its definition arrives, CustomResource is false
// until the event.
func TestCustomResourceOfDefinitionThatIsSeenLate(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		h.server.InjectFault(1, func(r fake.APIRequest) bool { return r.Resource == "customresourcedefinitions" && r.Verb == "watch" }, fake.Fault{Stall: true})
		options, values := h.recordCustom("widgets")
		h.all = h.run(options)
		h.define("Widget", "v1")
		h.create("v1", "Widget", "a")
		after(5 * time.Second)
		wantValues(t, "before the event", values(), "Select v1 false", "Handler v1 false", "Status v1 false")
		for h.follower.Status().Definitions == 0 {
			after(time.Second)
		}
		after(time.Second)
		values()
		h.create("v1", "Widget", "b")
		h.all.Reselect()
		after(time.Second)
		got := values()
		slices.Sort(got)
		wantValues(t, "after the event", got, "Handler v1 true", "Select v1 true", "Status v1 true")
	})
}

// A change of a definition or APIService that changes nothing but CustomResource is a change of the
// resource.
func TestChangeOfCustomResourceAlone(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		h.define("Widget", "v1")
		h.create("v1", "Widget", "a")
		options, values := h.recordCustom("widgets")
		h.all = h.run(options)
		answers := h.follower.Status().Changed
		wantValues(t, "at the start", values(), "Select v1 true", "Handler v1 true", "Status v1 true")
		service := apiService()
		for _, row := range []struct{ label, want string }{{"", "v1 false"}, {"true", "v1 true"}} {
			h.setLabel(service, row.label)
			wantValues(t, fmt.Sprintf("with label %q", row.label), values(), "Select "+row.want, "Status "+row.want)
		}
		if n := h.follower.Status().Changed - answers; n != 0 {
			t.Errorf("got %d changed answers of discovery, want none", n)
		}
	})
}

// A Select that requires CustomResource starts and ends informers. It does not end that of a
// deleted definition: the deletions of its objects do not have LeftScope.
func TestSelectByCustomResource(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		crd := h.define("Widget", "v1")
		h.create("v1", "Widget", "a")
		h.server.InjectFault(-1, func(r fake.APIRequest) bool { return r.Resource == "widgets" && r.Verb == "watch" }, fake.Fault{Stall: true})
		all := h.run(h.options(func(r follow.Resource) bool { return ofExample(r) && r.CustomResource }))
		h.wantEvents("of the definition", "widgets v1 Add/a")
		service := apiService()
		h.setLabel(service, "")
		wantFollowed(t, "without the label", all)
		h.wantEvents("without the label", "widgets v1 Delete/a left")
		h.setLabel(service, "true")
		wantFollowed(t, "with the label", all, "example.com/v1 widgets")
		h.wantEvents("with the label", "widgets v1 Add/a")
		release := h.hold(func(r fake.APIRequest) bool { return isDiscovery(r) || r.Resource == "widgets" })
		noError(t, h.server.Delete(crd))
		after(time.Second) // for the event, while the last answer of discovery has the resource
		release()
		after(10 * time.Second)
		wantFollowed(t, "after the deletion", all)
		h.wantEvents("after the deletion", "widgets v1 Delete/a")
	})
}

// The first discovery request is made once the lists of definitions and APIServices have each
// succeeded or failed, and after 30 s in any case.
func TestFirstDiscoveryRequestWaitsForLists(t *testing.T) {
	for name, row := range map[string]struct {
		wait  time.Duration
		fault fake.Fault // of the list, after most of that time
		want  string
	}{
		"listed":      {20 * time.Second, fake.Fault{}, "v1 true"},
		"failed":      {20 * time.Second, fake.Fault{Err: fake.InternalError()}, "v1 false"},
		"no progress": {30 * time.Second, fake.Fault{Stall: true}, "v1 false"},
	} {
		for _, resource := range []string{"customresourcedefinitions", "apiservices"} {
			t.Run(resource+" "+name, func(t *testing.T) {
				inBubble(t, nil, func(t *testing.T, h *harness) {
					h.define("Widget", "v1")
					h.create("v1", "Widget", "a")
					hold := make(chan struct{})
					row.fault.Hold = hold
					h.server.InjectFault(-1, func(r fake.APIRequest) bool {
						return r.Resource == resource && r.Verb == "list" && !r.HTTP.URL.Query().Has("limit")
					}, row.fault)
					options, values := h.recordCustom("widgets")
					h.all = h.run(options)
					after(row.wait - 5*time.Second - time.Millisecond)
					if n := h.follower.Status().Requests; n != 0 {
						t.Errorf("got %d discovery requests before the list, want none", n)
					}
					close(hold)
					after(time.Second)
					wantValues(t, "after the list", values(), "Select "+row.want, "Handler "+row.want, "Status "+row.want)
				})
			})
		}
	}
}
