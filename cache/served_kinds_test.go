// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/served"
)

// sizedWidget is a Widget of one field.
type sizedWidget = cache.PartialObject[*unstructured.Unstructured, sizeFields]

type sizeFields struct {
	Spec struct {
		Size int64 `json:"size"`
	} `json:"spec"`
}

// Objects of a few fields come and go with their definition. Their deletions have the fields.
func TestPartialObjectsFollowTheirDefinition(t *testing.T) {
	for _, packed := range []bool{false, true} {
		t.Run(fmt.Sprintf("packed %v", packed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { followPartialObjects(t, packed) })
		})
	}
}

func followPartialObjects(t *testing.T, packed bool) {
	t.Helper()
	server, err := fake.StartAPIServer(fake.APIServerOptions{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close(context.WithoutCancel(t.Context()))
	resource := served.New(served.ErrNotServed)
	lw := cache.ListWatchOf(dynamic.NewForConfigOrDie(server.Config()).Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}))
	example := &sizedWidget{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Widget"}}
	informer := cache.NewSharedInformer(lw, example, cache.InformerOptions[*sizedWidget]{
		Packed: packed, Served: served.Publish(resource).(*cache.Served), ErrorHandler: func(_ context.Context, err error) { t.Errorf("reported %v", err) },
	})
	var events []string
	_, err = informer.AddEventHandler(cache.EventHandlerFunc[*sizedWidget](func(e cache.Event[*sizedWidget]) {
		events = append(events, fmt.Sprintf("%s %s %d left %t", e.Type, e.Object().Name, e.Object().Fields.Spec.Size, e.LeftScope))
	}), cache.HandlerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- informer.Run(ctx) }()
	expect := func(when string, exists bool, want ...string) {
		t.Helper()
		<-time.After(time.Second) // in the bubble
		synctest.Wait()
		if !slices.Equal(events, want) {
			t.Errorf("%s: events %q, want %q", when, events, want)
		}
		if obj, found := informer.Store().GetByKey("ns/a"); found != exists || found && obj.Fields.Spec.Size == 0 {
			t.Errorf("%s: the store has %+v, want one: %v", when, obj, exists)
		}
		events = nil
	}
	create := func(size int64) {
		t.Helper()
		obj := newWidget("ns", "a", "")
		obj.Object["spec"] = map[string]any{"size": size, "text": "left out"}
		if err := errors.Join(server.Create(widgetResource.Definition()), server.Create(obj)); err != nil {
			t.Fatal(err)
		}
	}
	expect("at the start", false)
	create(1)
	resource.Set(served.Served, nil)
	expect("served", true, "Add a 1 left false")
	if err := server.Delete(widgetResource.Definition()); err != nil {
		t.Fatal(err)
	}
	resource.Set(served.Gone, served.ErrNotServed)
	expect("gone", false, "Delete a 1 left false")
	create(2)
	resource.Set(served.Served, nil)
	expect("served again", true, "Add a 2 left false")
	server.InjectFault(-1, func(r fake.APIRequest) bool { return r.Resource == "widgets" }, fake.RequestFault{Err: apierrors.NewNotFound(schema.GroupResource{}, "")})
	resource.Set(served.NotServed, served.ErrNotServed)
	expect("not served", false, "Delete a 2 left true")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// The scopes of selected namespaces come and go while their resource does.
func TestNamespaceScopesFollowTheirResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw := fake.NewListerWatcher(&corev1.Namespace{})
		selected := func(name, team string) *corev1.Namespace {
			return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
		}
		lw.Create(selected("ns", "blue"))
		lw.Create(selected("other", "red"))
		namespaces := cache.NewSharedInformer(lw, &corev1.Namespace{}, cache.InformerOptions[*corev1.Namespace]{})
		scopes, err := cache.NamespaceScopes(namespaces, labels.SelectorFromSet(labels.Set{"team": "blue"}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- namespaces.Run(ctx) }()
		runServedInBubble(t, cache.InformerOptions[*unstructured.Unstructured]{Scopes: scopes}, func(h *servedHarness) {
			expect := func(step, want string) {
				t.Helper()
				h.do(step)
				if got := h.received(); got != want {
					t.Errorf("after %q: events %q, want %q", step, got, want)
				}
			}
			h.do("create")
			expect("served", "Add a")
			h.do("delete")
			expect("gone", "Delete a")
			lw.Update(selected("other", "blue"))
			expect("create", "")
			expect("served", "Add a, Add b")
			h.server.InjectFault(-1, func(r fake.APIRequest) bool { return r.Resource == "widgets" }, fake.RequestFault{Err: apierrors.NewNotFound(schema.GroupResource{}, "")})
			expect("not served", "Delete a left, Delete b left")
			lw.Update(selected("other", "red")) // its objects have left before
			lw.Delete("ns")
			synctest.Wait()
			h.server.ClearFaults()
			expect("served", "")
			lw.Create(selected("ns", "blue"))
			expect("", "Add a")
		})
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
