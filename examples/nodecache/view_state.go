package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kinformer/kinformer/cache"
)

// viewState is the state of the cache at one moment, as a view shows it.
type viewState struct {
	server string
	// nodes is a snapshot of the store. It may be slightly newer than counts and status.
	nodes  cache.Snapshot[*corev1.Node]
	status cache.Status
	counts eventCounts
	now    time.Time
}

// viewState returns the current state with the view's event counts.
func (n *nodeCache) viewState(counts eventCounts, now time.Time) viewState {
	return viewState{server: n.server, nodes: n.store.Snapshot(), status: n.controller.Status(), counts: counts, now: now}
}

// nodeSummary returns the number of nodes with each status, the most frequent status first.
func (s viewState) nodeSummary() string {
	byStatus := map[string]int{}
	for _, node := range s.nodes.All() {
		byStatus[statusText(node)]++
	}
	var parts []string
	for _, status := range slices.SortedFunc(maps.Keys(byStatus), func(a, b string) int {
		return cmp.Or(cmp.Compare(byStatus[b], byStatus[a]), cmp.Compare(a, b))
	}) {
		parts = append(parts, fmt.Sprintf("%d %s", byStatus[status], status))
	}
	return strings.TrimSuffix(plural(s.nodes.Len(), "node")+": "+strings.Join(parts, ", "), ": ")
}

// freshness returns the informer's phase, the cache's resourceVersion, and the time since the cache
// was last confirmed to be current.
func (s viewState) freshness() string {
	at := "at no resourceVersion yet"
	if version := s.nodes.ResourceVersion(); version != "" {
		at = "at resourceVersion " + version
	}
	fresh := ""
	if !s.status.FreshAt.IsZero() {
		fresh = ", fresh " + ago(s.now.Sub(s.status.FreshAt))
	}
	return fmt.Sprintf("%s %s%s", s.status.Phase, at, fresh)
}

// failure returns the informer's error and its duration in one line, or "" if there is no error.
func (s viewState) failure() string {
	if s.status.Err == nil {
		return ""
	}
	return fmt.Sprintf("failing for %s, %s: %s", duration.HumanDuration(s.now.Sub(s.status.ErrSince)),
		plural(s.status.Attempts, "attempt"), sanitize(rootCause(s.status.Err).Error()))
}

// ago formats the time since an event, with tenths of a second below ten seconds.
func ago(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs ago", max(0, d).Seconds())
	}
	return duration.HumanDuration(d) + " ago"
}

// plural formats a number with a noun in the singular or plural.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
