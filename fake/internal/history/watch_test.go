// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// A bookmark promises that all events up to its version were sent, so a watcher with outstanding
// events does not return one yet.
func TestNoBookmarkBeforeWatcherHasCaughtUp(t *testing.T) {
	h := newHarness(10)
	h.write(t, "a", "x")
	yes := true
	cursor, err := h.objects.Watch("", metav1.ListOptions{
		AllowWatchBookmarks: true, SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	h.write(t, "b", "x")
	cursor.Bookmark()
	h.memory.Bookmark()
	for _, want := range []string{"ADDED 2", "BOOKMARK 2", "ADDED 3", "BOOKMARK 3"} {
		events, _, err := cursor.Next(1)
		if err != nil || len(events) != 1 {
			t.Fatalf("got %v, %v, want %s", events, err, want)
		}
		if got := string(events[0].Type) + " " + FormatVersion(events[0].Version); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		_, isInitialEventsEnd := events[0].Object.GetAnnotations()[metav1.InitialEventsAnnotationKey]
		if isInitialEventsEnd != (want == "BOOKMARK 2") {
			t.Errorf("%s: ends the initial events: %v", want, isInitialEventsEnd)
		}
	}
	if events, changed, err := cursor.Next(1); len(events) != 0 || changed == nil || err != nil {
		t.Errorf("after all events: got %v, %v", events, err)
	}
	cursor.Bookmark()
	if events, _, err := cursor.Next(1); len(events) != 1 || events[0].Type != watch.Bookmark || err != nil {
		t.Errorf("after Bookmark: got %v, %v, want one", events, err)
	}
}
