// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// naiveEvent is an event of a history that a test keeps whole.
type naiveEvent struct {
	version int
	key     string
	write   uint64
}

func (e naiveEvent) item() feed.Item {
	return feed.Item{Key: e.key, UID: "uid-" + e.key, ResourceVersion: strconv.Itoa(e.version)}
}

func (e naiveEvent) stamp() Stamp { return Stamp{e.write, jsonWrite} }

// receive records events that follow a list at a version, all at one time.
func receive(h *History, list int, events ...naiveEvent) {
	reached := list
	for _, e := range events {
		h.Received(watch.Modified, e.item(), e.stamp(), strconv.Itoa(reached), time.Unix(0, 0))
		reached = e.version
	}
}

// naiveHistory draws a history of versions after first, some of which have several events.
func naiveHistory(r *rand.Rand, first int) (events []naiveEvent) {
	version := first
	for range r.IntN(30) {
		version += 1 + r.IntN(90)
		for i := range []int{1, 1, 1, 2, 40, 70}[r.IntN(6)] {
			events = append(events, naiveEvent{version, fmt.Sprint(r.IntN(3), "-", i), r.Uint64N(2)})
		}
	}
	return events
}

// TestStatesOfAListOwnTheirStrings lists items that share their strings' memory, and expects the
// history not to keep it.
func TestStatesOfAListOwnTheirStrings(t *testing.T) {
	var list List
	block := "default/web-1uid-112default/web-2uid-213"
	for i := range 2 {
		part := block[20*i : 20*i+20]
		list.Add(feed.Item{Key: part[:13], UID: part[13:18], ResourceVersion: part[18:], Borrowed: true})
	}
	var h History
	h.Listed(&list)
	for i, s := range h.states {
		if want := block[20*i:][:20]; s.key+s.uid+s.version != want {
			t.Errorf("state %d is %q, want %q", i, s.key+s.uid+s.version, want)
		}
		if at, begin := uintptr(unsafe.Pointer(unsafe.StringData(s.key))), uintptr(unsafe.Pointer(unsafe.StringData(block))); at >= begin && at < begin+uintptr(len(block)) {
			t.Errorf("the key of state %d is a part of the block", i)
		}
	}
}

// TestOverlapMatchesNaiveTwin checks a history against one that keeps all events: where a resumed
// watch starts, that a server which has the same history repeats it, and that one which was
// restored to a version below the last change does not.
func TestOverlapMatchesNaiveTwin(t *testing.T) {
	for seed := range uint64(1_000) {
		r := rand.New(rand.NewPCG(seed, 0))
		list := 1 + r.IntN(2000)
		events := naiveHistory(r, list)
		received := events[:r.IntN(len(events)+1)]
		var h History
		receive(&h, list, received...)
		o := h.Overlap(time.Unix(0, 0))
		start, ok := naiveStart(received, list)
		if (o != nil) != ok {
			t.Fatalf("seed %d: an overlap: %v, want %v", seed, o != nil, ok)
		}
		if o == nil {
			continue
		}
		if o.Start != strconv.Itoa(start) {
			t.Fatalf("seed %d: the watch starts at %s, want %d", seed, o.Start, start)
		}
		served := events
		if r.IntN(2) == 0 {
			restored := list + r.IntN(received[len(received)-1].version-list+1)
			served = slices.Clone(events[:firstAfter(events, restored)])
			for range r.IntN(8) {
				restored += 1 + r.IntN(90)
				served = append(served, naiveEvent{restored, "0-0", 2})
			}
		}
		overlapping, found, n := served[firstAfter(served, start):], None, 0
		for ; n < len(overlapping) && found == None && !o.Done(); n++ {
			found = o.Compare(watch.Modified, overlapping[n].item(), overlapping[n].stamp())
		}
		expected := received[firstAfter(received, start):]
		has := len(overlapping) >= len(expected) && slices.Equal(overlapping[:len(expected)], expected)
		if repeated := found == None && o.Done(); repeated != has || has && n != len(expected) {
			t.Fatalf("seed %d: repeated %v, %d events, the server has the changes: %v\nreceived %v\nserved   %v", seed, repeated, n, has, expected, overlapping)
		}
	}
}

// naiveStart returns the version before the last versions of events, of which at most 64 events are
// remembered, and whether there is one.
func naiveStart(events []naiveEvent, list int) (start int, ok bool) {
	versions, sizes := []int{list}, []int{0}
	for _, e := range events {
		if last := len(versions) - 1; versions[last] != e.version {
			versions, sizes = append(versions, e.version), append(sizes, 0)
		}
		sizes[len(sizes)-1]++
	}
	total, i := 0, len(versions)
	for i > 1 && len(versions)-i < maxRepeated && total+sizes[i-1] <= size {
		i--
		total += sizes[i]
	}
	return versions[i-1], i < len(versions)
}

func firstAfter(events []naiveEvent, version int) int {
	at := slices.IndexFunc(events, func(e naiveEvent) bool { return e.version > version })
	if at < 0 {
		return len(events)
	}
	return at
}

// TestOverlapStartsWithinTheWindow checks that a watch does not start at a version that a server
// may have dropped, unless only the last change is repeated.
func TestOverlapStartsWithinTheWindow(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	var h History
	h.Received(watch.Modified, naiveEvent{version: 10, key: "a"}.item(), Stamp{}, "5", at(0))
	h.Received(watch.Modified, naiveEvent{version: 20, key: "b"}.item(), Stamp{}, "15", at(50))
	h.Received(watch.Modified, naiveEvent{version: 30, key: "c"}.item(), Stamp{}, "25", at(60))
	for seconds, want := range map[int]string{60: "5", 80: "20", 134: "25", 3600: "25"} {
		if got := h.Overlap(at(seconds)).Start; got != want {
			t.Errorf("after %d s the watch starts at %s, want %s", seconds, got, want)
		}
	}
	h.Settle("20", at(60))
	if got := h.Overlap(at(61)).Start; got != "20" {
		t.Errorf("after changes up to 20 were settled, the watch starts at %s", got)
	}
	if h.Settle("30", at(60)); h.Overlap(at(61)) != nil || !h.IsEmpty() {
		t.Error("settled changes are repeated")
	}
}

// A bookmark that has passed a change which was not repeated shows that the server lacks it.
func TestBookmarkPastAMissingChangeIsNotAllowed(t *testing.T) {
	var h History
	events := []naiveEvent{{9, "a", 0}, {10, "b", 0}, {10, "c", 0}, {100, "a", 0}}
	receive(&h, 4, events...)
	o := h.Overlap(time.Unix(0, 0))
	for i, allowed := range [][2]string{{"8", "9"}, {"9", "10"}, {"9", "10"}, {"99", "100"}} {
		if !o.AllowsBookmark(allowed[0]) || o.AllowsBookmark(allowed[1]) {
			t.Errorf("after %d events, bookmarks at %s and %s are allowed: %v and %v", i, allowed[0], allowed[1], o.AllowsBookmark(allowed[0]), o.AllowsBookmark(allowed[1]))
		}
		if found := o.Compare(watch.Modified, events[i].item(), events[i].stamp()); found != None {
			t.Fatalf("event %d: %v", i, found)
		}
	}
}

// TestAnotherEventIsFound checks each part of a change.
func TestAnotherEventIsFound(t *testing.T) {
	item := feed.Item{Key: "a", UID: "1", ResourceVersion: "5"}
	otherKey, otherUID, otherVersion := item, item, item
	otherKey.Key, otherUID.UID, otherVersion.ResourceVersion = "b", "2", "6"
	write := Stamp{1, jsonWrite}
	for name, c := range map[string]struct {
		event watch.EventType
		item  feed.Item
		stamp Stamp
		want  Evidence
	}{
		"the same":         {watch.Added, item, write, None},
		"another form":     {watch.Added, item, Stamp{2, protobufWrite}, None},
		"an unknown stamp": {watch.Added, item, Stamp{}, None},
		"another write":    {watch.Added, item, Stamp{2, jsonWrite}, OtherWrite},
		"another type":     {watch.Modified, item, write, OtherHistory},
		"another key":      {watch.Added, otherKey, write, OtherHistory},
		"another UID":      {watch.Added, otherUID, write, OtherHistory},
		"another version":  {watch.Added, otherVersion, write, OtherHistory},
	} {
		var h History
		h.Received(watch.Added, item, write, "4", time.Unix(0, 0))
		if got := h.Overlap(time.Unix(0, 0)).Compare(c.event, c.item, c.stamp); got != c.want {
			t.Errorf("%s: evidence %v, want %v", name, got, c.want)
		}
	}
	var h History
	h.Received(watch.Added, item, Stamp{1, jsonContents}, "4", time.Unix(0, 0))
	if got := h.Overlap(time.Unix(0, 0)).Compare(watch.Added, item, Stamp{2, jsonContents}); got != OtherContents {
		t.Errorf("other contents: evidence %v", got)
	}
}

// TestRepeatedStampIsAdopted repeats a change in another form, and then a second time in that form.
func TestRepeatedStampIsAdopted(t *testing.T) {
	item := feed.Item{Key: "a", UID: "1", ResourceVersion: "5"}
	var h History
	h.Received(watch.Added, item, Stamp{1, jsonWrite}, "4", time.Unix(0, 0))
	h.Overlap(time.Unix(0, 0)).Compare(watch.Added, item, Stamp{1, protobufWrite})
	if got := h.Overlap(time.Unix(0, 0)).Compare(watch.Added, item, Stamp{2, protobufWrite}); got != OtherWrite {
		t.Errorf("another write in the form that was repeated last has evidence %v", got)
	}
}

// TestListIsComparedWithTheNewestStates lists objects in random order, and lists them again after
// one was written again at its version.
func TestListIsComparedWithTheNewestStates(t *testing.T) {
	const n = 200
	listOf := func(order []int, generationOf func(version int) int) *List {
		var list List
		for _, version := range order {
			list.Add(jsonItem(t, fmt.Sprintf(`{"metadata":{"name":"a-%d","uid":"u","resourceVersion":"%d","generation":%d,"managedFields":[{"manager":"m","time":"2026-01-01T00:00:00Z"}]}}`,
				version, version, generationOf(version))))
		}
		return &list
	}
	one := func(int) int { return 1 }
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		order := r.Perm(n)
		for i := range order {
			order[i] += 10 // so that some have more digits than others
		}
		var h History
		h.Listed(listOf(order, one))
		slices.Reverse(order)
		if found := h.Compare(listOf(order, one)); found != None {
			t.Fatalf("seed %d: the same list has evidence %v", seed, found)
		}
		changed := 10 + r.IntN(n)
		want := None
		if changed >= 10+n-size {
			want = OtherWrite
		}
		if found := h.Compare(listOf(order, func(version int) int { return map[bool]int{true: 2, false: 1}[version == changed] })); found != want {
			t.Fatalf("seed %d: version %d of %d to %d was written again: evidence %v, want %v", seed, changed, 10, 10+n-1, found, want)
		}
	}
}

// TestStatesOfEventsFollowThoseOfAList checks that the 64 newest states are those of the last
// events and then of the list.
func TestStatesOfEventsFollowThoseOfAList(t *testing.T) {
	var h History
	var list List
	for i := range size {
		list.Add(feed.Item{Key: fmt.Sprint(i), UID: "1", ResourceVersion: strconv.Itoa(i + 1)})
	}
	h.Listed(&list)
	if !h.IsEmpty() || h.Overlap(time.Unix(0, 0)) != nil {
		t.Error("a server is asked to repeat the states of a list")
	}
	receive(&h, size, naiveEvent{version: 100, key: "x"})
	if len(h.states) != size || h.states[0].version != "2" || h.states[size-1].version != "100" || len(h.received()) != 1 {
		t.Errorf("%d states from %s to %s, %d events", len(h.states), h.states[0].version, h.states[size-1].version, len(h.received()))
	}
}

// TestListWithAnOlderStateIsOfAnotherHistory lists an object at an older version than was received.
func TestListWithAnOlderStateIsOfAnotherHistory(t *testing.T) {
	var h History
	receive(&h, 4, naiveEvent{9, "a", 1}, naiveEvent{10, "b", 1})
	for _, c := range []struct {
		item feed.Item
		want Evidence
	}{
		{naiveEvent{8, "a", 1}.item(), OtherHistory},
		{naiveEvent{12, "a", 1}.item(), None},
		{feed.Item{Key: "a", UID: "another", ResourceVersion: "8"}, None},
		{naiveEvent{8, "c", 1}.item(), None},
	} {
		var list List
		if list.Add(c.item); h.Compare(&list) != c.want {
			t.Errorf("%+v: evidence %v, want %v", c.item, h.Compare(&list), c.want)
		}
	}
}

// TestRepetitionThatCannotBeReadIsComparedByItsVersion repeats two events, of which the first or
// the last cannot be read.
func TestRepetitionThatCannotBeReadIsComparedByItsVersion(t *testing.T) {
	events := []naiveEvent{{5, "a", 1}, {6, "b", 1}}
	for unread := range events {
		for version, same := range map[string]bool{strconv.Itoa(events[unread].version): true, "": true, "9": false} {
			var h History
			receive(&h, 4, events...)
			o := h.Overlap(time.Unix(0, 0))
			for i, e := range events {
				if i != unread {
					if got := o.Compare(watch.Modified, e.item(), e.stamp()); got != None {
						t.Errorf("event %d: %v", i, got)
					}
				} else if o.RepeatUnreadable(version) != same {
					t.Errorf("event %d with version %q: %v", i, version, !same)
				} else if !same {
					break
				}
			}
			if o.Done() != same {
				t.Errorf("event %d with version %q: done %v", unread, version, o.Done())
			}
		}
	}
}

// TestInheritedStatesAreComparedWithLists adds the states of histories of others, of which no watch
// starts before, and of which the newest are kept up to the next list.
func TestInheritedStatesAreComparedWithLists(t *testing.T) {
	var former, older, h History
	receive(&former, 4, naiveEvent{9, "a", 1}, naiveEvent{10, "b", 1})
	for n := range size {
		receive(&older, 1, naiveEvent{2 + n/32, fmt.Sprint(n), 1})
	}
	receive(&h, 10, naiveEvent{11, "c", 1})
	var inherits sync.WaitGroup
	inherits.Go(func() {
		h.Inherit(&former)
		h.Inherit(&older)
	})
	h.Compare(&List{states: []listedState{{state: state{key: "c", version: "11"}}}})
	h.Has(naiveEvent{11, "c", 1}.item(), naiveEvent{11, "c", 1}.stamp())
	inherits.Wait()
	if o := h.Overlap(time.Unix(0, 0)); o == nil || o.Start != "10" || o.Last != "11" {
		t.Errorf("overlap %+v", o)
	}
	if n := len(h.inherited); n != size || h.inherited[n-1].version != "10" || h.inherited[n-2].version != "9" {
		t.Errorf("%d states are inherited: %+v", n, h.inherited)
	}
	compare := func(e naiveEvent) Evidence {
		return h.Compare(&List{states: []listedState{{state: state{key: e.key, uid: "uid-" + e.key, version: strconv.Itoa(e.version), stamp: e.stamp()}}}})
	}
	for _, c := range []struct {
		listed naiveEvent
		want   Evidence
	}{
		{naiveEvent{9, "a", 1}, None},
		{naiveEvent{9, "a", 2}, OtherWrite},
		{naiveEvent{8, "a", 1}, OtherHistory},
		{naiveEvent{12, "a", 2}, None},
	} {
		if found := compare(c.listed); found != c.want {
			t.Errorf("%+v: evidence %v, want %v", c.listed, found, c.want)
		}
	}
	if b := (naiveEvent{10, "b", 1}); !h.Has(b.item(), b.stamp()) {
		t.Error("an inherited state is not known")
	}
	h.Listed(nil)
	if found := compare(naiveEvent{9, "a", 2}); found != None {
		t.Errorf("after a list: evidence %v", found)
	}
}
