// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// Overlap compares the first events of a resumed watch with those received last.
type Overlap struct {
	// Start is the version at which the watch starts.
	Start string
	// Last is the version of the last event.
	Last string

	events []state // that the server must repeat; the history does not change before it has
	next   int     // index of the event that comes next
}

// Overlap returns the comparison for a watch that is resumed now, or nil if no watch can start
// before an event. The watch starts before the oldest events that the server certainly has for
// watches, or at least before the last one: a healthy server would refuse a start of an hour ago.
func (h *History) Overlap(now time.Time) *Overlap {
	events := h.received()
	if len(events) == 0 {
		return nil
	}
	first := firstOfGroup(events, len(events)-1)
	start, next := h.beforeLast, first
	oldest := now.Add(-watchWindow).UnixNano()
	for range maxRepeated {
		before, at := h.base, h.baseAt
		if first > 0 {
			before, at = events[first-1].group, events[first-1].at
		}
		if at < oldest {
			break
		}
		start, next = before, first
		if first == 0 {
			break
		}
		first = firstOfGroup(events, first-1)
	}
	if start == "0" || !feed.Reaches(start, start) {
		return nil
	}
	return &Overlap{Start: start, Last: events[len(events)-1].group, events: events[next:]}
}

// firstOfGroup returns the index of the first event of the group that an event belongs to.
func firstOfGroup(events []state, i int) int {
	for i > 0 && events[i-1].group == events[i].group {
		i--
	}
	return i
}

// Compare compares an event with the one that comes next. It returns None if it is the same. It
// must not be called once Done returns true.
func (o *Overlap) Compare(event watch.EventType, item feed.Item, stamp Stamp) Evidence {
	want := &o.events[o.next]
	if event != want.event || item.Key != want.key || item.UID != want.uid || item.ResourceVersion != want.version {
		return OtherHistory
	}
	found := want.stamp.evidence(stamp)
	if found == None {
		want.stamp = stamp // which may have another form
		o.next++
	}
	return found
}

// RepeatUnreadable takes an event that cannot be read for the one that comes next, unless it has
// another version. version is empty if that cannot be read either. It must not be called once
// Done returns true.
func (o *Overlap) RepeatUnreadable(version string) bool {
	same := version == "" || version == o.events[o.next].version
	if same {
		o.next++
	}
	return same
}

// AllowsBookmark reports whether the server may send a bookmark at version now: all events up to
// version have been repeated. It must not be called once Done returns true.
func (o *Overlap) AllowsBookmark(version string) bool {
	return feed.IsOlder(version, o.events[o.next].group)
}

// Done reports whether all events have been repeated. More of the last version may follow.
func (o *Overlap) Done() bool { return o.next == len(o.events) }
