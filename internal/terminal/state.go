// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kinformer/kinformer/cache"
)

// State is the state of a cache at one moment, as a view shows it.
type State struct {
	Title   string // such as "node cache of https://cluster.example:6443"
	Summary string // of the objects, such as "3 nodes: 2 Ready, 1 NotReady"
	// Columns are the headers of the table.
	Columns []string
	// Len is the number of rows of the whole table.
	Len int
	// Rows returns the first rows of the table, at most limit.
	Rows func(limit int) []Row
	// ResourceVersion is that of the objects. They may be slightly newer than Status.
	ResourceVersion string
	Status          cache.Status
	Now             time.Time

	counts EventCounts // of the view
	began  time.Time   // when the view began, or zero
}

// Row is a row of the table.
type Row struct {
	Key   string   // as in Event
	Cells []string // a text for each column
	Style Style    // if empty, a recent event highlights the row
}

// freshness returns the informer's phase, the cache's resourceVersion, and the time since the cache
// was last confirmed to be current.
func (s State) freshness() string {
	at := "at no resourceVersion yet"
	if s.ResourceVersion != "" {
		at = "at resourceVersion " + Sanitize(s.ResourceVersion)
	}
	fresh := ""
	if !s.Status.FreshAt.IsZero() {
		fresh = ", fresh " + ago(s.Now.Sub(s.Status.FreshAt))
	}
	return fmt.Sprintf("%s %s%s", s.Status.Phase, at, fresh)
}

// progress returns how far the initial list is, or "" if it is not in progress.
func (s State) progress() string {
	received := s.Status.Received
	if s.Status.Synced || received == 0 {
		return ""
	}
	text := "listing, " + Plural(received, "object")
	if read := s.Status.BytesRead; read > 0 {
		text += fmt.Sprintf(", %.1f MB", float64(read)/1e6)
	}
	if seconds := s.Now.Sub(s.began).Seconds(); seconds > 0 && !s.began.IsZero() {
		text += fmt.Sprintf(", %.0f objects/s", float64(received)/seconds)
	}
	return text
}

// failure returns the informer's error and its duration in one line, or "" if there is no error.
func (s State) failure() string {
	if s.Status.Err == nil {
		return ""
	}
	return fmt.Sprintf("failing for %s, %s: %s", duration.HumanDuration(s.Now.Sub(s.Status.ErrSince)),
		Plural(s.Status.Attempts, "attempt"), Sanitize(rootCause(s.Status.Err).Error()))
}

// ago formats the time since an event, with tenths of a second below ten seconds.
func ago(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs ago", max(0, d).Seconds())
	}
	return duration.HumanDuration(d) + " ago"
}

// Age formats the time since an object's creation.
func Age(created, now time.Time) string {
	if created.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(max(0, now.Sub(created)))
}

// Plural formats a number with a noun in the singular or plural.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
