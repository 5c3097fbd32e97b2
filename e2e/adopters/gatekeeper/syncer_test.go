// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/follow"
)

var (
	widgetKind    = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")
)

// TestSyncFollowsConfigAndServer changes what Configs name and what the server serves. Neither
// Configs nor Widgets are served at the start.
func TestSyncFollowsConfigAndServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t)
		defer h.stop()
		must(t, h.server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}))
		<-time.After(time.Hour)
		h.expect("")
		h.expectRequests("configs", 0)

		must(t, h.server.Create(definition(configKind)))
		must(t, h.server.Create(config("first", configMapKind, widgetKind)))
		h.expect("ConfigMap a")
		if status := h.syncer.Status()[widgetKind]; status.Phase != cache.PhaseNotServed || status.Err == nil {
			t.Errorf("Widgets are in phase %s, error %v, before they are served", status.Phase, status.Err)
		}
		for range 3 {
			h.expectRequests("widgets", 0)
			must(t, h.server.Create(definition(widgetKind)))
			must(t, h.server.Create(object(widgetKind, "gear")))
			h.expect("ConfigMap a, Widget gear")
			must(t, h.server.Delete(definition(widgetKind)))
			h.expect("ConfigMap a")
			h.requests.clear()
			<-time.After(time.Hour)
		}

		must(t, h.server.Create(definition(widgetKind)))
		must(t, h.server.Create(object(widgetKind, "lever")))
		must(t, h.server.Create(config("second", widgetKind)))
		h.expect("ConfigMap a, Widget lever")
		must(t, h.server.Delete(config("first")))
		h.expect("Widget lever")
		must(t, h.server.Update(config("second", configMapKind)))
		h.expect("ConfigMap a")
		if len(h.syncer.Status()) != 1 {
			t.Errorf("the status has %v, want ConfigMaps alone", h.syncer.Status())
		}
		must(t, h.server.Delete(definition(configKind)))
		h.expect("")
		h.requests.clear()
		<-time.After(time.Hour)
		for _, resource := range []string{"configs", "widgets", "configmaps"} {
			h.expectRequests(resource, 0)
		}
	})
}

// TestWatchesAreShared adds two users of a kind. The second one receives what is there, without a
// request, and the watch ends with the last user.
func TestWatchesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t)
		defer h.stop()
		must(t, h.server.Create(definition(widgetKind)))
		must(t, h.server.Create(object(widgetKind, "gear")))
		var received [2][]string
		var watches [2]*Watch
		for i := range watches {
			watch, err := h.watches.Add(widgetKind, func(event cache.Event[Object]) {
				received[i] = append(received[i], string(event.Type)+" "+event.Key)
			})
			must(t, err)
			watches[i] = watch
			<-time.After(time.Minute)
			synctest.Wait()
			if want := []string{"Add default/gear"}; !slices.Equal(received[i], want) {
				t.Errorf("user %d received %q, want %q", i, received[i], want)
			}
		}
		before := h.requests.count("widgets")
		watches[0].Stop()
		must(t, h.server.Delete(object(widgetKind, "gear")))
		synctest.Wait()
		if len(received[0]) != 1 || len(received[1]) != 2 {
			t.Errorf("received %q after the first one has stopped", received)
		}
		if count := h.requests.count("widgets"); count != before {
			t.Errorf("%d requests, want %d", count, before)
		}
		watches[1].Stop()
		h.requests.clear()
		<-time.After(time.Hour)
		h.expectRequests("widgets", 0)
	})
}

// harness is a Syncer that runs.
type harness struct {
	t        *testing.T
	server   *fake.APIServer
	watches  *Watches
	syncer   *Syncer
	data     data
	requests requests
	stop     func()
}

func start(t *testing.T) *harness {
	t.Helper()
	server, err := fake.StartAPIServer(fake.APIServerOptions{InMemory: true})
	must(t, err)
	h := &harness{t: t, server: server}
	server.InjectFault(-1, h.requests.record, fake.Fault{})
	stop := h.run(server.Config())
	h.stop = func() {
		stop()
		must(t, server.Close(context.Background()))
	}
	return h
}

// run runs a Syncer with the clients of a server.
func (h *harness) run(config *rest.Config) (stop func()) {
	h.t.Helper()
	h.data.objects = make(map[schema.GroupVersionKind]map[string]Object)
	cache.EnableStreaming(config)
	follower := follow.New(metadata.NewForConfigOrDie(config), discovery.NewDiscoveryClientForConfigOrDie(config), follow.Options{})
	h.watches = NewWatches(dynamic.NewForConfigOrDie(config), follower)
	h.syncer = NewSyncer(h.watches, &h.data)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- cache.RunAll(ctx, follower.Run, h.watches.Run, h.syncer.Run) }()
	return func() {
		cancel()
		must(h.t, <-stopped)
	}
}

// expect checks the content of the data cache, a minute after the last change.
func (h *harness) expect(want string) {
	h.t.Helper()
	<-time.After(time.Minute)
	if got := h.data.String(); got != want {
		h.t.Errorf("the data cache has %q, want %q", got, want)
	}
}

func (h *harness) expectRequests(resource string, want int) {
	h.t.Helper()
	if got := h.requests.count(resource); got != want {
		h.t.Errorf("%d requests for %s, want %d", got, resource, want)
	}
}

// requests counts the requests by resource.
type requests struct {
	mu     sync.Mutex
	counts map[string]int
}

func (r *requests) record(request fake.APIRequest) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = make(map[string]int)
	}
	r.counts[request.Resource]++
	return false
}

func (r *requests) count(resource string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[resource]
}

func (r *requests) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.counts)
}

// data is a data cache. It fails on a Remove of an object that it does not have.
type data struct {
	mu      sync.Mutex
	objects map[schema.GroupVersionKind]map[string]Object
}

func (d *data) Put(kind schema.GroupVersionKind, obj Object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.objects[kind] == nil {
		d.objects[kind] = make(map[string]Object)
	}
	d.objects[kind][obj.GetNamespace()+"/"+obj.GetName()] = obj
}

func (d *data) Remove(kind schema.GroupVersionKind, key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.objects[kind][key] == nil {
		panic("no " + kind.Kind + " " + key)
	}
	delete(d.objects[kind], key)
}

func (d *data) Wipe(kind schema.GroupVersionKind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.objects, kind)
}

func (d *data) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []string
	for kind, objects := range d.objects {
		for obj := range maps.Values(objects) {
			all = append(all, kind.Kind+" "+obj.GetName())
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func definition(kind schema.GroupVersionKind) *unstructured.Unstructured {
	return fake.CustomResource{Group: kind.Group, Versions: []string{kind.Version}, Kind: kind.Kind}.Definition()
}

func object(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace("default")
	obj.SetName(name)
	return obj
}

func config(name string, kinds ...schema.GroupVersionKind) *unstructured.Unstructured {
	var entries []any
	for _, kind := range kinds {
		entries = append(entries, map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind})
	}
	obj := object(configKind, name)
	obj.Object["spec"] = map[string]any{"sync": map[string]any{"syncOnly": entries}}
	return obj
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
