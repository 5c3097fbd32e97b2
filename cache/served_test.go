// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
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

var widgetResource = fake.CustomResource{Group: "example.com", Versions: []string{"v1"}, Kind: "Widget"}

func newWidget(namespace, name, version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"namespace": namespace, "name": name, "resourceVersion": version},
	}}
}

// servedHarness is an informer of a custom resource. The test sets the verdict.
type servedHarness struct {
	*testing.T
	*cache.SharedInformer[*unstructured.Unstructured]
	server   *fake.APIServer
	resource *served.Resource

	mu     sync.Mutex // guards events
	events []string
}

func runServed(t *testing.T, options cache.InformerOptions[*unstructured.Unstructured], test func(h *servedHarness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { runServedInBubble(t, options, test) })
}

func runServedInBubble(t *testing.T, options cache.InformerOptions[*unstructured.Unstructured], test func(h *servedHarness)) {
	t.Helper()
	server := cachetest.StartAPIServer(t, fake.APIServerOptions{InMemory: true})
	h := &servedHarness{T: t, server: server, resource: served.New(fmt.Errorf("pending: %w", served.ErrNotServed))}
	options.Served = served.Publish(h.resource)
	options.Indexers = cache.Indexers[*unstructured.Unstructured]{cache.NamespaceIndex: cache.ByMetadata[*unstructured.Unstructured](cache.MetaNamespaceIndexFunc)}
	options.ErrorHandler = func(_ context.Context, err error) { t.Errorf("reported %v", err) }
	h.SharedInformer = cache.NewSharedInformer(cache.ListWatchOf(widgetsOf(server.Config())), &unstructured.Unstructured{}, options)
	h.handle()
	start(t, h.SharedInformer)
	synctest.Wait()
	test(h)
}

func (h *servedHarness) handle() *cache.Registration {
	return handle(h.T, h.SharedInformer, func(event cache.Event[*unstructured.Unstructured]) {
		text := fmt.Sprintf("%v %s", event.Type, event.Object().GetName())
		if event.LeftScope {
			text += " left"
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.events = append(h.events, text)
	})
}

// received returns the events since the last call, sorted.
func (h *servedHarness) received() string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	events := h.events
	h.events = nil
	slices.Sort(events)
	return strings.Join(events, ", ")
}

// expect takes a step, and checks the events since the last call.
func (h *servedHarness) expect(step, events string) {
	h.Helper()
	h.do(step)
	if got := h.received(); got != events {
		h.Errorf("after %q: events %q, want %q", step, got, events)
	}
}

func (h *servedHarness) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// do takes a step, and waits for its effects.
func (h *servedHarness) do(step string) {
	h.Helper()
	why := func(text string) error { return fmt.Errorf("%s: %w", text, served.ErrNotServed) }
	switch step {
	case "create": // the definition and two objects
		h.must(h.server.Create(widgetResource.Definition()))
		h.must(h.server.Create(newWidget("ns", "a", "")))
		h.must(h.server.Create(newWidget("other", "b", "")))
	case "delete": // the definition
		h.must(h.server.Delete(widgetResource.Definition()))
	case "served":
		h.resource.Set(served.Served, nil)
	case "unknown":
		h.resource.Set(served.Unknown, nil)
	case "not served":
		h.resource.Set(served.NotServed, why("version"))
	case "unlisted":
		h.resource.Set(served.Unlisted, why("unlisted"))
	case "gone":
		h.resource.Set(served.Gone, why("deleted"))
	}
	<-time.After(time.Second) // in the bubble
	synctest.Wait()
}

// reads returns what each read and wait says, in one line: "ok", "none" if there is no object, or
// the kind of error.
func (h *servedHarness) reads() string {
	h.Helper()
	kind := func(err error) string {
		switch {
		case err == nil:
			return "ok"
		case errors.Is(err, context.DeadlineExceeded):
			return "waits"
		case errors.Is(err, cache.ErrNotServed):
			return "absent"
		case errors.Is(err, cache.ErrNoScope):
			return "noscope"
		case apierrors.IsNotFound(err):
			return "none"
		}
		return err.Error()
	}
	wait := func(wait func(context.Context) error) string {
		ctx, cancel := context.WithTimeout(h.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		result := kind(wait(ctx))
		if result != "waits" && time.Since(began) > 0 {
			return result + " late"
		}
		return result
	}
	get := func() string {
		if _, exists, err := h.Store().Get(newWidget("ns", "a", "")); exists || err != nil {
			return kind(err)
		}
		return "none"
	}
	byIndex := func() string {
		if found, err := h.Store().ByIndex(cache.NamespaceIndex, "ns"); len(found) > 0 || err != nil {
			return kind(err)
		}
		return "none"
	}
	_, listed := cache.NewLister(h.Store(), schema.GroupResource{Resource: "widgets"}).Namespace("ns").Get("a")
	now := h.Status().Freshness.ResourceVersion
	if now == "" {
		now = "1"
	}
	return strings.Join([]string{
		string(h.Status().Phase), fmt.Sprintf("synced=%v/%v health=%s", h.HasSynced(), h.Status().Synced, kind(h.HealthCheck(cache.HealthOptions{})(nil))),
		"get=" + get(), "lister=" + kind(listed), "index=" + byIndex(), "key=" + kind(h.Store().KeyError("ns/a")), "sync=" + wait(h.WaitForSync),
		"object=" + wait(func(ctx context.Context) error { return h.WaitForObject(ctx, newWidget("ns", "a", "1000000")) }),
		"delete=" + wait(func(ctx context.Context) error { return h.WaitForDelete(ctx, newWidget("ns", "a", "")) }),
		"version=" + wait(func(ctx context.Context) error { return h.WaitForResourceVersion(ctx, "1000000") }),
		"now=" + wait(func(ctx context.Context) error { return h.WaitForResourceVersion(ctx, now) }),
	}, " ")
}

// The reads of each phase.
const (
	readsAbsent  = "NotServed synced=false/false health=ok get=absent lister=absent index=absent key=absent sync=waits object=absent delete=absent version=absent now=absent"
	readsServed  = "Watching synced=true/true health=ok get=ok lister=ok index=ok key=ok sync=ok object=waits delete=waits version=waits now=ok"
	readsGone    = "NotServed synced=false/false health=ok get=none lister=none index=none key=ok sync=waits object=absent delete=ok version=absent"
	readsUnknown = "Retrying synced=true/true health=ok get=ok lister=ok index=ok key=ok sync=ok object=waits delete=waits version=waits now=ok"
)

func TestServed(t *testing.T) {
	lower := cache.HashRange{Field: cache.HashUID, Last: math.MaxUint64 / 2}
	upper := cache.HashRange{Field: cache.HashUID, First: math.MaxUint64/2 + 1, Last: math.MaxUint64}
	for name, options := range map[string]cache.InformerOptions[*unstructured.Unstructured]{
		"whole":        {},
		"packed":       {Packed: true},
		"scopes":       {Scopes: cache.NewScopes(cache.Scope{Namespace: "ns"}, cache.Scope{Namespace: "other"})},
		"whole scope":  {Scopes: cache.NewScopes(cache.Scope{})},
		"hashed scope": {Scopes: cache.NewScopes(cache.Scope{Hash: lower}, cache.Scope{Hash: upper})},
	} {
		t.Run(name, func(t *testing.T) {
			runServed(t, options, func(h *servedHarness) {
				expect := func(step, events, reads string) {
					t.Helper()
					h.expect(step, events)
					if got := h.reads(); got != reads {
						t.Errorf("after %q:\n got %s\nwant %s", step, got, reads)
					}
				}
				expect("", "", readsAbsent)
				expect("not served", "", readsAbsent)
				expect("gone", "", readsAbsent) // which the informer has never listed
				expect("create", "", readsAbsent)
				expect("served", "Add a, Add b", readsServed)
				expect("not served", "", readsServed) // the server says the opposite
				<-time.After(time.Minute)             // until requests have tokens again
				expect("served", "", readsServed)
				h.server.InjectFault(-1, isWidgets, fake.Fault{Err: errNoWidgets})
				expect("not served", "Delete a left, Delete b left", readsAbsent)
				registration := h.handle()
				h.server.ClearFaults()
				expect("served", "Add a, Add a, Add b, Add b", readsServed)
				if !registration.HasSynced() {
					t.Error("a handler that was added has not synced")
				}
				registration.Cancel()
				h.do("delete")
				expect("gone", "Delete a, Delete b", readsGone+" now=ok")
				expect("create", "", readsGone+" now=ok")
				<-time.After(time.Minute) // until requests have tokens again
				expect("served", "Add a, Add b", readsServed)
			})
		})
	}
}

// A wait that began while the resource was served ends once it is not, unless what it waits for is
// true.
func TestWaitsEndWithService(t *testing.T) {
	for name, options := range map[string]cache.InformerOptions[*unstructured.Unstructured]{
		"whole": {}, "scopes": {Scopes: cache.NewScopes(cache.Scope{Namespace: "ns"}, cache.Scope{Namespace: "other"})},
	} {
		for step, isDeleted := range map[string]bool{"not served": false, "gone": true} {
			t.Run(name+", "+step, func(t *testing.T) {
				runServed(t, options, func(h *servedHarness) {
					h.do("create")
					h.do("served")
					object := startWait(func() error { return h.WaitForObject(h.Context(), newWidget("ns", "a", "1000000")) })
					version := startWait(func() error { return h.WaitForResourceVersion(h.Context(), "1000000") })
					deletion := startWait(func() error { return h.WaitForDelete(h.Context(), newWidget("ns", "a", "")) })
					h.server.InjectFault(-1, isWidgets, fake.Fault{Err: errNoWidgets})
					h.do(step)
					for what, wait := range map[string]waiter{"object": object, "version": version, "deletion": deletion} {
						if err, ended := wait.result(); !ended || errors.Is(err, cache.ErrNotServed) == (isDeleted && what == "deletion") {
							t.Errorf("wait for %s: ended %v, error %v", what, ended, err)
						}
					}
					// Waits that begin while the objects are listed again wait for the list.
					release := make(chan struct{})
					h.server.ClearFaults()
					h.server.InjectFault(-1, func(r fake.APIRequest) bool { return isWidgets(r) && r.Verb == "list" }, fake.Fault{Hold: release})
					h.do("served")
					reached := startWait(func() error { return h.WaitForResourceVersion(h.Context(), h.Status().Freshness.ResourceVersion) })
					deletion = startWait(func() error { return h.WaitForDelete(h.Context(), newWidget("ns", "a", "")) })
					synced := startWait(func() error { return h.WaitForSync(h.Context()) })
					for what, wait := range map[string]waiter{"version": reached, "deletion": deletion, "sync": synced} {
						if err, ended := wait.result(); ended {
							t.Errorf("wait for %s during a list: it has ended, %v", what, err)
						}
					}
					close(release)
					synctest.Wait()
					reached.expectDone(t, "the list")
					synced.expectDone(t, "the list")
					if err, ended := deletion.result(); ended {
						t.Errorf("wait for a deletion of an object that exists: %v", err)
					}
					h.must(h.server.Delete(newWidget("ns", "a", "")))
					deletion.expectDone(t, "the deletion")
				})
			})
		}
	}
}

// Scopes may be added and removed while the resource is not served.
func TestScopesChangeWhileNotServed(t *testing.T) {
	scopes := cache.NewScopes(cache.Scope{Namespace: "ns"})
	runServed(t, cache.InformerOptions[*unstructured.Unstructured]{Scopes: scopes}, func(h *servedHarness) {
		h.do("create")
		h.do("served")
		h.do("delete")
		h.expect("gone", "Add a, Delete a")
		h.must(scopes.Set(cache.Scope{Namespace: "other"}))
		h.do("create")
		if got := h.received(); got != "" || h.Status().Phase != cache.PhaseNotServed {
			t.Errorf("events %q in phase %s", got, h.Status().Phase)
		}
		h.do("served")
		if got := h.received(); got != "Add b" || !h.HasSynced() || len(h.ScopeStatus()) != 1 {
			t.Errorf("events %q, synced %v, scopes %+v", got, h.HasSynced(), h.ScopeStatus())
		}
	})
}

// A program that runs without a verdict requests the resource, as without Served.
func TestUnknownIsRequested(t *testing.T) {
	runServed(t, cache.InformerOptions[*unstructured.Unstructured]{}, func(h *servedHarness) {
		h.do("create")
		h.do("unknown")
		if got := h.received(); got != "Add a, Add b" || h.reads() != readsServed {
			t.Errorf("events %q, %s", got, h.reads())
		}
	})
}

// A scope that is added says nothing of the others: their objects stay gone, or stay in the store.
func TestScopeAddedWhileNotServed(t *testing.T) {
	added := cache.Scope{Namespace: "other"}
	for _, row := range []struct {
		name, verdict string
		events, reads string
		deletes       bool   // the definition
		then          string // the events after the resource is served again
	}{
		{"gone", "gone", "Add a, Delete a", readsGone + " now=absent", true, "Add a, Add b"}, // which no scope had listed: its version is not reached
		{"unlisted", "unlisted", "Add a, Add b", readsServed, false, ""},
		{"disproved", "not served", "Add a, Add b", readsServed, false, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			scopes := cache.NewScopes(cache.Scope{Namespace: "ns"})
			runServed(t, cache.InformerOptions[*unstructured.Unstructured]{Scopes: scopes}, func(h *servedHarness) {
				h.do("create")
				h.do("served")
				if row.deletes {
					h.do("delete")
				}
				h.do(row.verdict)
				h.must(scopes.Add(added))
				<-time.After(time.Minute)
				if got := h.received(); got != row.events {
					t.Errorf("events %q, want %q", got, row.events)
				}
				if got := h.reads(); got != row.reads {
					t.Errorf("\n got %s\nwant %s", got, row.reads)
				}
				if row.deletes {
					h.do("create")
				}
				h.do("served")
				if got := h.received(); got != row.then {
					t.Errorf("events %q, want %q", got, row.then)
				}
				if got := h.reads(); got != readsServed {
					t.Errorf("\n got %s\nwant %s", got, readsServed)
				}
			})
		})
	}
}

// An informer without scopes requests nothing, whether or not its resource is served, and has
// synced.
func TestInformerWithoutScopesSyncsBeforeAVerdict(t *testing.T) {
	scopes := cache.NewScopes()
	runServed(t, cache.InformerOptions[*unstructured.Unstructured]{Scopes: scopes}, func(h *servedHarness) {
		if _, err := h.Store().ByIndex(cache.NamespaceIndex, "ns"); err != nil || !h.HasSynced() {
			t.Errorf("synced %v, a read returns %v", h.HasSynced(), err)
		}
		h.must(scopes.Add(cache.Scope{Namespace: "ns"}))
		synctest.Wait()
		if _, err := h.Store().ByIndex(cache.NamespaceIndex, "ns"); !errors.Is(err, cache.ErrNotServed) || h.HasSynced() {
			t.Errorf("with a scope: synced %v, a read returns %v", h.HasSynced(), err)
		}
	})
}
