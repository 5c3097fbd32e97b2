// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
)

// node returns a node with one label.
func node(name, label string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"label": label}}}
}

// shownNodes returns nodes to show, and records their events in a view. handled, if not nil,
// receives a value after each event.
func shownNodes(lw cache.ListerWatcher, v View, handled chan<- struct{}) Shown {
	store, controller := cache.NewInformer(lw, &corev1.Node{}, 0, cache.EventHandlerFunc[*corev1.Node](func(event cache.Event[*corev1.Node]) {
		object := event.Object()
		v.Record(Event{Type: event.Type, Key: object.Name, Text: object.Labels["label"], InInitialList: event.InInitialList})
		if handled != nil {
			handled <- struct{}{}
		}
	}))
	return Shown{Noun: "nodes", Server: "the test's cluster", Informer: controller, State: func(now time.Time) State {
		return nodeState(store.Snapshot(), controller.Status(), now)
	}}
}

func nodeState(nodes cache.Snapshot[*corev1.Node], status cache.Status, now time.Time) State {
	var rows []Row
	for _, object := range nodes.All() {
		rows = append(rows, Row{Key: object.Name, Cells: []string{object.Name, object.Labels["label"]}})
	}
	return State{
		Title: "the nodes", Summary: Plural(len(rows), "node"), Columns: []string{"NAME", "LABEL"},
		Len: len(rows), Rows: func(limit int) []Row { return rows[:min(limit, len(rows))] },
		ResourceVersion: nodes.ResourceVersion(), Status: status, Now: now,
	}
}

// start runs an informer until the end of the test or until stop, and waits for its initial list.
func start(t *testing.T, shown Shown) (stop func()) {
	t.Helper()
	background := newGroup(t.Context())
	background.start(shown.Informer.Run)
	stop = func() {
		if err := background.stop(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := shown.Informer.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	return stop
}
