// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A bookmark promises that all events up to its version were sent, so a watcher with outstanding
// events must not return one.
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
	if bookmark := cursor.Bookmark(); bookmark != nil {
		t.Fatalf("got bookmark at %d before the initial events", bookmark.Version)
	}
	h.write(t, "b", "x")
	h.memory.Bookmark()
	for _, want := range []string{"ADDED 2", "BOOKMARK 2", "ADDED 3"} {
		if bookmark := cursor.Bookmark(); bookmark != nil {
			t.Fatalf("got bookmark at %d before %s", bookmark.Version, want)
		}
		events, _, err := cursor.Next(1)
		if got := string(events[0].Type) + " " + FormatVersion(events[0].Version); err != nil || got != want {
			t.Fatalf("got %s, %v, want %s", got, err, want)
		}
	}
	if bookmark := cursor.Bookmark(); bookmark == nil || bookmark.Version != 3 {
		t.Errorf("got bookmark %v, want one at 3", bookmark)
	}
	events, _, _ := cursor.Next(1)
	if len(events) != 1 || events[0].Version != 3 || len(events[0].Object.GetAnnotations()) != 0 {
		t.Errorf("after Memory.Bookmark: got %v, want one bookmark at 3", events)
	}
	if events, changed, err := cursor.Next(1); len(events) != 0 || changed == nil || err != nil {
		t.Errorf("after all events: got %v, %v", events, err)
	}
}
