// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/testing/random"
)

// naiveEvent is an event of a history that a test keeps whole.
type naiveEvent struct {
	version int
	key     string
	content string
}

func (e naiveEvent) change() change {
	item := feed.Item{Key: e.key, UID: "uid-" + e.key, ResourceVersion: strconv.Itoa(e.version), Raw: []byte(`{"c":"` + e.content + `"}`)}
	return changeOf(watch.Modified, item)
}

// naiveHistory draws a history of versions from first on, some of which have several events.
func naiveHistory(t *random.T, first int) (events []naiveEvent) {
	version := first
	for range t.Range("versions", 0, 30) {
		t.Step("version")
		version += t.Range("step", 1, 90)
		for i := range random.From(t, "events", 1, 1, 1, 2, 40) {
			events = append(events, naiveEvent{version, fmt.Sprint(t.Range("key", 0, 2), "-", i), random.From(t, "content", "x", "y")})
		}
	}
	return events
}

// TestJournalMatchesNaiveTwin checks a journal against one that keeps whole events: where a resumed
// watch starts, that a server which has the same history repeats it, and that one which was
// restored to a version below the last change does not.
func TestJournalMatchesNaiveTwin(t *testing.T) {
	random.Check(t, 100, func(t *random.T) {
		list := t.Range("list", 1, 2000)
		events := naiveHistory(t, list)
		cut := t.Range("received", 0, len(events))
		received := events[:cut]
		var j journal
		j.reset(strconv.Itoa(list))
		reached := list
		for _, e := range received {
			j.record(e.change(), strconv.Itoa(reached), time.Unix(0, 0))
			reached = e.version
		}
		o := j.overlap(time.Unix(0, 0))
		if len(received) == 0 {
			if o != nil {
				t.Fatalf("an empty journal starts at %s", o.start)
			}
			return
		}
		if want := naiveStart(received, list); o.start != strconv.Itoa(want) {
			t.Fatalf("the watch starts at %s, want %d", o.start, want)
		}
		t.Step("server")
		restored := t.Range("restored to", list, reached)
		served := events
		if t.Bool("restore") {
			served = slices.Clone(events[:firstAfter(events, restored)])
			for range t.Range("writes", 0, 8) {
				restored += t.Range("step", 1, 90)
				served = append(served, naiveEvent{restored, "0-0", "new"})
			}
		}
		start, _ := strconv.Atoi(o.start)
		overlapping, repeats := served[firstAfter(served, start):], true
		n := 0
		for ; n < len(overlapping) && repeats && !o.done(); n++ {
			repeats = o.repeat(overlapping[n].change())
		}
		expected := received[firstAfter(received, start):]
		has := len(overlapping) >= len(expected) && slices.Equal(overlapping[:len(expected)], expected)
		if ok := repeats && o.done() && !o.anyDiffers; ok != has {
			t.Fatalf("repeated: %v, the server has the changes: %v\nreceived %v\nserved   %v", ok, has, expected, overlapping)
		}
		if has && n != len(expected) {
			t.Fatalf("%d events were repeated, want %d", n, len(expected))
		}
	})
}

// naiveStart returns the version before the last versions of events.
func naiveStart(events []naiveEvent, list int) int {
	versions := []int{list}
	for _, e := range events {
		if last := len(versions) - 1; versions[last] != e.version {
			versions = append(versions, e.version)
		}
	}
	return versions[max(0, len(versions)-1-journalSize)]
}

func firstAfter(events []naiveEvent, version int) int {
	at := slices.IndexFunc(events, func(e naiveEvent) bool { return e.version > version })
	if at < 0 {
		return len(events)
	}
	return at
}

// A bookmark that has passed a change which was not repeated shows that the server lacks it.
func TestBookmarkPastAMissingChangeIsNotAllowed(t *testing.T) {
	var j journal
	j.reset("4")
	for _, e := range []naiveEvent{{9, "a", ""}, {10, "b", ""}, {10, "c", ""}, {100, "a", ""}} {
		j.record(e.change(), "4", time.Unix(0, 0))
	}
	o := j.overlap(time.Unix(0, 0))
	check := func(version string, want bool) {
		t.Helper()
		if got := o.allowsBookmark(version); got != want {
			t.Errorf("a bookmark at %s is allowed: %v, want %v", version, got, want)
		}
	}
	check("8", true)
	check("9", false)
	check("10", false)
	o.repeat(naiveEvent{9, "a", ""}.change())
	check("9", true)
	o.repeat(naiveEvent{10, "b", ""}.change())
	check("9", true)
	check("10", false)
	o.repeat(naiveEvent{10, "c", ""}.change())
	check("99", true)
	check("100", false)
}

// A version that only the last changes have in other bytes was written after a restore. If the
// first ones differ, too, or the last one does not, the server encodes objects in another way.
func TestOtherContentsOfTheLastChangesAreARestore(t *testing.T) {
	for contents, want := range map[string][2]bool{"xxx": {false, false}, "xxy": {true, true}, "yyy": {true, false}, "yyx": {true, false}} {
		var j journal
		j.reset("4")
		for i := range 3 {
			j.record(naiveEvent{i + 5, "a", "x"}.change(), "4", time.Unix(0, 0))
		}
		o := j.overlap(time.Unix(0, 0))
		for i := range 3 {
			if !o.repeat(naiveEvent{i + 5, "a", contents[i : i+1]}.change()) {
				t.Fatalf("%s: event %d does not match", contents, i)
			}
		}
		if got := [2]bool{o.anyDiffers, o.differsLate()}; got != want {
			t.Errorf("%s: %v, want %v", contents, got, want)
		}
	}
}

// Contents in another encoding prove nothing, but the identity of a change is compared.
func TestAnotherEncodingIsNotCompared(t *testing.T) {
	item := feed.Item{Key: "a", UID: "1", ResourceVersion: "5", Raw: []byte("{}")}
	protobuf := item
	protobuf.Raw = []byte{10, 0}
	var j journal
	j.reset("4")
	j.record(changeOf(watch.Added, item), "4", time.Unix(0, 0))
	if o := j.overlap(time.Unix(0, 0)); !o.repeat(changeOf(watch.Added, protobuf)) || o.anyDiffers {
		t.Error("the same change in another encoding differs")
	}
	for name, other := range map[string]change{
		"type": changeOf(watch.Modified, item),
		"key":  changeOf(watch.Added, feed.Item{Key: "b", UID: "1", ResourceVersion: "5", Raw: item.Raw}),
		"UID":  changeOf(watch.Added, feed.Item{Key: "a", UID: "2", ResourceVersion: "5", Raw: item.Raw}),
	} {
		if j.overlap(time.Unix(0, 0)).repeat(other) {
			t.Errorf("a change with another %s matches", name)
		}
	}
}

// Where the client decodes, a write is known by its metadata.
func TestDecodedWriteIsKnownByItsMetadata(t *testing.T) {
	at := metav1.Unix(1000, 0)
	pod := func(edit func(*corev1.Pod)) change {
		p := &corev1.Pod{}
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Operation: metav1.ManagedFieldsOperationUpdate, Time: &at}}
		edit(p)
		return changeOf(watch.Modified, feed.Item{Key: "a", ResourceVersion: "5", Object: &corev1.Pod{}, Received: p})
	}
	same := pod(func(*corev1.Pod) {})
	if got := pod(func(*corev1.Pod) {}); got != same {
		t.Error("equal objects have different hashes")
	}
	later := metav1.Unix(1001, 0)
	for name, edit := range map[string]func(*corev1.Pod){
		"time":       func(p *corev1.Pod) { p.ManagedFields[0].Time = &later },
		"manager":    func(p *corev1.Pod) { p.ManagedFields[0].Manager = "n" },
		"generation": func(p *corev1.Pod) { p.Generation = 2 },
		"label":      func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} },
		"deletion":   func(p *corev1.Pod) { p.DeletionTimestamp = &later },
	} {
		if got := pod(edit); got.content == same.content {
			t.Errorf("another %s has the same hash", name)
		}
	}
}

// TestJournalIsSmall checks that a journal needs at most 1 kB a stream.
func TestJournalIsSmall(t *testing.T) {
	var j journal
	j.reset("18446744073709551615")
	size := unsafe.Sizeof(j) + uintptr(cap(j.before))
	for i := range 100 {
		j.record(change{version: fmt.Sprint(uint64(18446744073709551000) + uint64(i))}, "18446744073709551615", time.Unix(0, 0))
	}
	for i := range j.entries {
		size += uintptr(cap(j.entries[i].version))
	}
	if size > 1<<10 {
		t.Errorf("a journal has %d bytes, want at most 1024", size)
	}
}

// BenchmarkRecordChange measures what the journal adds to an event of 6 kB.
func BenchmarkRecordChange(b *testing.B) {
	raw := make([]byte, 6000)
	for i := range raw {
		raw[i] = byte('a' + i%26)
	}
	raw[0] = '{'
	item := feed.Item{Key: "namespace/name-of-a-pod", UID: "5f0c1b4e-7a3f-4a53-9d0c-000000000000", ResourceVersion: "123456789", Raw: raw}
	var j journal
	versions := make([]string, 64)
	for i := range versions {
		versions[i] = strconv.Itoa(123456789 + i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		item.ResourceVersion = versions[i%64]
		j.record(changeOf(watch.Modified, item), "123456788", time.Unix(0, 0))
	}
}
