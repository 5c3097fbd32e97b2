// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/history"
)

// recordingReplacement records the added items. It needs the objects of all items but those held,
// and the bytes of items without a codec.
type recordingReplacement struct {
	feed.Replacement
	held  map[string]bool
	added []feed.Item
}

func (r *recordingReplacement) Needs(item feed.Item) (feed.Need, any) {
	if r.held[item.Key] {
		return feed.NeedsIdentity, "held " + item.Key
	}
	if item.Codec == nil {
		return feed.NeedsBytes, nil
	}
	return feed.NeedsObject, nil
}

func (r *recordingReplacement) Add(item feed.Item) {
	item.Raw = slices.Clone(item.Raw)
	r.added = append(r.added, item)
}

// expect checks that n items with consecutive keys were added, decoded or in bytes.
func (r *recordingReplacement) expect(t *testing.T, n int, decoded func(i int) bool) {
	t.Helper()
	if len(r.added) != n {
		t.Fatalf("%d items were added, want %d", len(r.added), n)
	}
	for i, item := range r.added {
		if item.Key != fmt.Sprint(i) || (item.Object != nil) != decoded(i) {
			t.Fatalf("item %d is %s, decoded: %v", i, item.Key, item.Object != nil)
		}
	}
}

// nameCodec decodes a name padded with spaces to a Pod. It fails on "bad" and panics on "panic".
type nameCodec struct{}

func (nameCodec) Decode(raw []byte) (apiruntime.Object, error) {
	switch name := strings.TrimSpace(string(raw)); name {
	case "bad":
		return nil, errors.New("bad")
	case "panic":
		panic("panic")
	default:
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
	}
}

// TestPipelineKeepsOrderAndBytes adds items whose bytes share one buffer, as a source's do, and
// expects all of them in order, with their bytes, and decoded if necessary.
func TestPipelineKeepsOrderAndBytes(t *testing.T) {
	for name, size := range map[string]struct{ items, pad int }{
		"no items":     {0, 0},
		"one batch":    {3, 10},
		"many batches": {5_000, 300},
		"large items":  {20, maxReuseBytes},
	} {
		t.Run(name, func(t *testing.T) {
			replacement := &recordingReplacement{held: map[string]bool{"item-1": true}}
			p := newDecodePipeline(replacement, new(history.List), DefaultInFlight)
			buffer := make([]byte, 0, size.pad+20)
			raw := func(i int) string {
				name := fmt.Sprintf("item-%d", i)
				switch i {
				case 2:
					name = "bad"
				case 3:
					name = "panic"
				}
				return fmt.Sprintf("%-*s", size.pad+10, name)
			}
			want := func(i int) string {
				if i == 1 { // held
					return ""
				}
				return raw(i)
			}
			for i := range size.items {
				buffer = append(buffer[:0], raw(i)...)
				p.add(feed.Item{Key: fmt.Sprintf("item-%d", i), Raw: buffer, Codec: nameCodec{}})
				clear(buffer)
			}
			p.finish(false)
			if len(replacement.added) != size.items {
				t.Fatalf("%d items were added, want %d", len(replacement.added), size.items)
			}
			for i, item := range replacement.added {
				if item.Key != fmt.Sprintf("item-%d", i) || string(item.Raw) != want(i) || (item.Raw == nil) != (i == 1) {
					t.Fatalf("item %d is %q with bytes %.20q…", i, item.Key, item.Raw)
				}
				// The items of a single batch are left to the replacement to decode.
				decoded := p.toDecode != nil && i != 1 && i != 2 && i != 3
				if known := item.Known == "held "+item.Key; known != (i == 1) {
					t.Fatalf("item %d carries %v of the replacement", i, item.Known)
				}
				if got := item.Object != nil; got != decoded {
					t.Fatalf("item %d is decoded: %v, want %v", i, got, decoded)
				}
			}
		})
	}
}

// TestPipelineOwnsTheStringsOfItemsToKeep adds items whose strings share memory with others. Only
// one of which the sink has the version still does when the sink receives it.
func TestPipelineOwnsTheStringsOfItemsToKeep(t *testing.T) {
	replacement := &recordingReplacement{held: map[string]bool{"item-1": true}}
	p := newDecodePipeline(replacement, new(history.List), DefaultInFlight)
	for i := range 3 {
		p.add(feed.Item{Key: fmt.Sprintf("item-%d", i), UID: "uid", ResourceVersion: "7", Raw: []byte("item"), Codec: nameCodec{}, Borrowed: true})
	}
	p.finish(false)
	for i, item := range replacement.added {
		if item.Borrowed != (i == 1) || item.Key != fmt.Sprintf("item-%d", i) || item.UID != "uid" || item.ResourceVersion != "7" {
			t.Errorf("item %d is %+v", i, item)
		}
	}
	if len(replacement.added) != 3 {
		t.Errorf("%d items were added, want 3", len(replacement.added))
	}
}

// TestPipelineFreesItsBatches adds items of one batch and of several.
func TestPipelineFreesItsBatches(t *testing.T) {
	for _, items := range []int{3, 5_000} {
		p := newDecodePipeline(&recordingReplacement{}, new(history.List), DefaultInFlight)
		for i := range items {
			p.add(feed.Item{Key: fmt.Sprint(i), Raw: make([]byte, 300), Codec: nameCodec{}})
		}
		if err := p.finish(false); err != nil {
			t.Fatal(err)
		}
		if p.current != nil || p.free != nil {
			t.Errorf("the pipeline of %d items references batches after the list", items)
		}
	}
}

// TestPipelineKeepsOrderOfBytesAndObjects adds batches that skip the workers between others.
func TestPipelineKeepsOrderOfBytesAndObjects(t *testing.T) {
	const items, run = 10 * batchItems, batchItems + batchItems/2
	replacement := &recordingReplacement{}
	p := newDecodePipeline(replacement, new(history.List), DefaultInFlight)
	asBytes := func(i int) bool { return i/run%2 == 1 }
	for i := range items {
		item := feed.Item{Key: fmt.Sprint(i), Raw: []byte("name"), Codec: nameCodec{}}
		if asBytes(i) {
			item.Codec = nil
		}
		p.add(item)
	}
	p.finish(false)
	replacement.expect(t, items, func(i int) bool { return !asBytes(i) })
}

func TestPipelineDiscardsItemsOfFailedList(t *testing.T) {
	replacement := &recordingReplacement{}
	p := newDecodePipeline(replacement, new(history.List), DefaultInFlight)
	for range 10 {
		p.add(feed.Item{Raw: make([]byte, 10), Codec: nameCodec{}})
	}
	p.finish(true)
	if len(replacement.added) != 0 {
		t.Errorf("%d items of a discarded batch were added", len(replacement.added))
	}

	p = newDecodePipeline(replacement, new(history.List), DefaultInFlight)
	for range 100 {
		p.add(feed.Item{Raw: make([]byte, batchBytes), Codec: nameCodec{}})
	}
	p.finish(true) // TestMain verifies that all goroutines have ended
}

func TestPipelineAddsDecodedObjectsAtOnce(t *testing.T) {
	replacement := &recordingReplacement{}
	p := newDecodePipeline(replacement, new(history.List), DefaultInFlight)
	p.add(feed.Item{Key: "a", Object: &corev1.Pod{}})
	if len(replacement.added) != 1 {
		t.Error("add returned before the decoded object was added")
	}
	p.finish(false)
}

// TestPipelineKeepsOrderOfMixedPages adds pages in bytes and pages of objects, as a list whose
// pages come from servers with different content types.
func TestPipelineKeepsOrderOfMixedPages(t *testing.T) {
	replacement := &recordingReplacement{}
	p := newDecodePipeline(replacement, new(history.List), DefaultInFlight)
	const items = 5_000
	for i := range items {
		item := feed.Item{Key: fmt.Sprint(i), Object: &corev1.Pod{}}
		if i/500%2 == 1 { // every second page
			item = feed.Item{Key: fmt.Sprint(i), Raw: make([]byte, 300), Codec: nameCodec{}}
		}
		p.add(item)
	}
	p.finish(false)
	replacement.expect(t, items, func(int) bool { return true })
}

// blockedReplacement blocks in Add until it is closed.
type blockedReplacement struct {
	feed.Replacement
	closed chan struct{}
}

func (r blockedReplacement) Needs(feed.Item) (feed.Need, any) { return feed.NeedsObject, nil }
func (r blockedReplacement) Add(feed.Item)                    { <-r.closed }

// TestPipelineBoundsBytesInFlight checks that a list of large objects is not read ahead of the
// replacement by more than Config.InFlight, on a machine with many processors.
func TestPipelineBoundsBytesInFlight(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(64))
	for _, limit := range []int{DefaultInFlight, 3 << 20} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) { checkBytesInFlight(t, limit) })
	}
}

func checkBytesInFlight(t *testing.T, limit int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		const size, items = 1 << 20, 100
		replacement := blockedReplacement{closed: make(chan struct{})}
		p := newDecodePipeline(replacement, new(history.List), limit)
		var read atomic.Int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			raw := bytes.Repeat([]byte(" "), size)
			for i := range items {
				p.add(feed.Item{Key: fmt.Sprint(i), Raw: raw, Codec: nameCodec{}})
				read.Add(1)
			}
			p.finish(false)
		}()
		synctest.Wait()
		if ahead := int(read.Load()) * size; ahead > limit || ahead < limit/2 {
			t.Errorf("%d bytes were read while nothing was added, want at most %d", ahead, limit)
		}
		close(replacement.closed)
		<-done
	})
}

// endingReplacement ends the goroutine in its third Add.
type endingReplacement struct {
	feed.Replacement
	added *int
	end   func()
}

func (endingReplacement) Needs(feed.Item) (feed.Need, any) { return feed.NeedsBytes, nil }
func (r endingReplacement) Add(feed.Item) {
	if *r.added++; *r.added == 3 {
		r.end()
	}
}

// TestPipelineFailsIfAddEndsTheGoroutine checks that a list is not taken for complete if a function
// of the program ends the collector's goroutine or panics in it, and that the source is not
// blocked.
func TestPipelineFailsIfAddEndsTheGoroutine(t *testing.T) {
	for name, end := range map[string]func(){"Goexit": runtime.Goexit, "panic": func() { panic("broken") }} {
		for _, items := range []int{150, 5000} {
			t.Run(fmt.Sprint(name, ", ", items, " items"), func(t *testing.T) {
				added := 0
				p := newDecodePipeline(endingReplacement{added: &added, end: end}, new(history.List), DefaultInFlight)
				raw := bytes.Repeat([]byte(" "), 1000)
				for i := range items {
					p.add(feed.Item{Key: fmt.Sprint(i), Raw: raw, Codec: nameCodec{}})
				}
				err := p.finish(false)
				if err == nil || feed.IsPanic(err) != (name == "panic") {
					t.Errorf("finish returned %v after %d of %d items", err, added, items)
				}
			})
		}
	}
}
