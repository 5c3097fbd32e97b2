// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

const (
	// namespace is the namespace of the objects under test.
	namespace = "default"
	// backgroundSize is the number of other objects, in a namespace of their own.
	backgroundSize = 100
	// batchEvents is more than the batch of a handler, whose events are not coalesced.
	batchEvents = 200
	// backlogEvents is more than the backlog above which events are coalesced: 10,000 in a small
	// collection.
	backlogEvents = 11_000
)

// createBackground creates the background objects.
func createBackground[T cache.Object](lw *fake.ListerWatcher[T], blank func() T) {
	lw.LimitHistory(10 * backlogEvents) // in a synctest bubble, a watch may be far behind the writer
	for i := range backgroundSize {
		obj := blank()
		obj.SetNamespace("background")
		obj.SetName(backgroundName(i))
		lw.Create(obj)
	}
}

// updateBackground makes a number of updates of the background objects.
func updateBackground[T cache.Object](lw *fake.ListerWatcher[T], events int) {
	for i := range events {
		if obj, ok := lw.Get("background/" + backgroundName(i%backgroundSize)); ok {
			lw.Update(obj)
		}
	}
}

// block blocks handlers in a call, with a full batch of background events.
func block[T cache.Object](gate *gate, lw *fake.ListerWatcher[T]) {
	advance(time.Second)
	gate.close()
	updateBackground(lw, batchEvents)
}

// expectCoalesced checks that the backlog was coalesced if the delivery does so, and not otherwise.
func expectCoalesced(t *testing.T, calls int, d delivery) {
	t.Helper()
	if every := calls > backlogEvents; every == d.coalesces() {
		t.Errorf("the handler was called %d times for %d events", calls, backlogEvents)
	}
}

// listNamespace returns the objects under test.
func listNamespace[T cache.Object](t *testing.T, lw *fake.ListerWatcher[T], selector labels.Selector) []T {
	t.Helper()
	list, err := lw.List(t.Context(), metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		t.Fatal(err)
	}
	var objs []T
	if err := meta.EachListItem(list, func(item runtime.Object) error {
		if obj := item.(T); obj.GetNamespace() == namespace {
			objs = append(objs, obj)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return objs
}

func backgroundName(i int) string { return fmt.Sprintf("background-%02d", i) }

// key returns an object's key.
func key(obj metav1.Object) string { return obj.GetNamespace() + "/" + obj.GetName() }
