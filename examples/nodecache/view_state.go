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

// picture is all that a view shows, at one moment.
type picture struct {
	server string
	// nodes is one state of the cluster, which may be a moment ahead of what the
	// handler has counted, and of status.
	nodes  cache.Snapshot[*corev1.Node]
	status cache.Status
	counts counts
	now    time.Time
}

// picture takes one.
func (n *nodeCache) picture(counts counts, now time.Time) picture {
	return picture{server: n.server, nodes: n.store.Snapshot(), status: n.controller.Status(), counts: counts, now: now}
}

// population says how many nodes there are in each condition.
func (p picture) population() string {
	byStatus := map[string]int{}
	for _, node := range p.nodes.All() {
		byStatus[statusText(node)]++
	}
	var parts []string
	for _, status := range slices.SortedFunc(maps.Keys(byStatus), func(a, b string) int {
		return cmp.Or(cmp.Compare(byStatus[b], byStatus[a]), cmp.Compare(a, b))
	}) {
		parts = append(parts, fmt.Sprintf("%d %s", byStatus[status], status))
	}
	return strings.TrimSuffix(count(p.nodes.Len(), "node")+": "+strings.Join(parts, ", "), ": ")
}

// freshness says where the cache is, and how long ago that was proved to be the
// server's state.
func (p picture) freshness() string {
	at := "at no resourceVersion yet"
	if version := p.nodes.ResourceVersion(); version != "" {
		at = "at resourceVersion " + version
	}
	fresh := ""
	if !p.status.FreshAt.IsZero() {
		fresh = ", fresh " + ago(p.now.Sub(p.status.FreshAt))
	}
	return fmt.Sprintf("%s %s%s", p.status.Phase, at, fresh)
}

// trouble says what is wrong and since when, in one line; empty if nothing is.
func (p picture) trouble() string {
	if p.status.Err == nil {
		return ""
	}
	return fmt.Sprintf("failing for %s, %s: %s", duration.HumanDuration(p.now.Sub(p.status.ErrSince)),
		count(p.status.Attempts, "attempt"), clean(reason(p.status.Err).Error()))
}

// ago says how long ago something was; what is less than ten seconds, to a tenth.
func ago(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs ago", max(0, d).Seconds())
	}
	return duration.HumanDuration(d) + " ago"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
