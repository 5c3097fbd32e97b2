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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/served"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
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
	server := cachetest.StartAPIServer(t, fake.APIServerOptions{InMemory: true})
	resource := served.New(served.ErrNotServed)
	example := &sizedWidget{TypeMeta: widgetType("Widget")}
	informer := cache.NewSharedInformer(cache.ListWatchOf(widgetsOf(server.Config())), example, cache.InformerOptions[*sizedWidget]{
		Packed: packed, Served: served.Publish(resource), ErrorHandler: func(_ context.Context, err error) { t.Errorf("reported %v", err) },
	})
	var events []string
	handle(t, informer, func(e cache.Event[*sizedWidget]) {
		events = append(events, fmt.Sprintf("%s %s %d left %t", e.Type, e.Object().Name, e.Object().Fields.Spec.Size, e.LeftScope))
	})
	start(t, informer)
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
	server.InjectFault(-1, isWidgets, fake.Fault{Err: errNoWidgets})
	resource.Set(served.NotServed, served.ErrNotServed)
	expect("not served", false, "Delete a 2 left true")
}

// The scopes of selected namespaces come and go while their resource does.
func TestNamespaceScopesFollowTheirResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw, namespaces, scopes := namespaceScopes(t, blue)
		lw.Create(namespace("ns", "blue"))
		lw.Create(namespace("other", "red"))
		start(t, namespaces)
		runServedInBubble(t, cache.InformerOptions[*unstructured.Unstructured]{Scopes: scopes}, func(h *servedHarness) {
			h.do("create")
			h.expect("served", "Add a")
			h.do("delete")
			h.expect("gone", "Delete a")
			lw.Update(namespace("other", "blue"))
			h.expect("create", "")
			h.expect("served", "Add a, Add b")
			h.server.InjectFault(-1, isWidgets, fake.Fault{Err: errNoWidgets})
			h.expect("not served", "Delete a left, Delete b left")
			lw.Update(namespace("other", "red")) // its objects have left before
			lw.Delete("ns")
			synctest.Wait()
			h.server.ClearFaults()
			h.expect("served", "")
			lw.Create(namespace("ns", "blue"))
			h.expect("", "Add a")
		})
	})
}
