package reflector

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/feed"
)

// aheadSink notes what is added, and needs every object but those held.
type aheadSink struct {
	feed.Replacement
	held  map[string]bool
	added []feed.Item
}

func (s *aheadSink) Needs(item feed.Item) feed.Need {
	if s.held[item.Key] {
		return feed.NeedsIdentity
	}
	return feed.NeedsObject
}
func (s *aheadSink) Add(item feed.Item) {
	item.Raw = append([]byte(nil), item.Raw...)
	s.added = append(s.added, item)
}

// nameCodec decodes a name, padded with spaces; some names do not decode.
type nameCodec struct{}

func (nameCodec) Decode(raw []byte) (runtime.Object, error) {
	switch name := strings.TrimSpace(string(raw)); name {
	case "bad":
		return nil, errors.New("bad")
	case "panic":
		panic("panic")
	default:
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
	}
}

// TestAheadKeepsOrderAndBytes lends one buffer for all items, as a cutter does,
// and wants each item back whole, in order, decoded where that is needed.
func TestAheadKeepsOrderAndBytes(t *testing.T) {
	for name, size := range map[string]struct{ items, pad int }{
		"none":            {0, 0},
		"one batch":       {3, 10},
		"many batches":    {5_000, 300},
		"items of a size": {20, keepBytes},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &aheadSink{held: map[string]bool{"item-1": true}}
			a := newAhead(sink)
			lent := make([]byte, 0, size.pad+20)
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
				lent = append(lent[:0], raw(i)...)
				a.add(feed.Item{Key: fmt.Sprintf("item-%d", i), Raw: lent, Codec: nameCodec{}})
				clear(lent)
			}
			a.finish(false)
			if len(sink.added) != size.items {
				t.Fatalf("%d items were added, want %d", len(sink.added), size.items)
			}
			for i, item := range sink.added {
				if item.Key != fmt.Sprintf("item-%d", i) || string(item.Raw) != want(i) {
					t.Fatalf("item %d is %q with %.20q…", i, item.Key, item.Raw)
				}
				// What fits one batch is left to the sink to decode.
				decoded := a.todo != nil && i != 1 && i != 2 && i != 3
				if got := item.Object != nil; got != decoded {
					t.Fatalf("item %d is decoded: %v, want %v", i, got, decoded)
				}
			}
		})
	}
}

func TestAheadDropsWhatAFailedListHadLeft(t *testing.T) {
	sink := &aheadSink{}
	a := newAhead(sink)
	for range 10 {
		a.add(feed.Item{Raw: make([]byte, 10), Codec: nameCodec{}})
	}
	a.finish(true)
	if len(sink.added) != 0 {
		t.Errorf("%d items of a dropped batch were added", len(sink.added))
	}

	a = newAhead(sink)
	for range 100 {
		a.add(feed.Item{Raw: make([]byte, batchBytes), Codec: nameCodec{}})
	}
	a.finish(true) // and no goroutine is left, which TestMain sees
}

func TestAheadPassesObjectsOn(t *testing.T) {
	sink := &aheadSink{}
	a := newAhead(sink)
	a.add(feed.Item{Key: "a", Object: &corev1.Pod{}})
	if len(sink.added) != 1 {
		t.Error("an object was not added at once")
	}
	a.finish(false)
}

// TestAheadKeepsOrderOfMixedPages: the pages of a list may come from servers of
// which one answers in bytes and the other in a format that the client decodes.
func TestAheadKeepsOrderOfMixedPages(t *testing.T) {
	sink := &aheadSink{}
	a := newAhead(sink)
	const items = 5_000
	for i := range items {
		item := feed.Item{Key: fmt.Sprint(i), Object: &corev1.Pod{}}
		if i/500%2 == 1 { // the first page comes as objects
			item = feed.Item{Key: fmt.Sprint(i), Raw: make([]byte, 300), Codec: nameCodec{}}
		}
		a.add(item)
	}
	a.finish(false)
	if len(sink.added) != items {
		t.Fatalf("%d items were added, want %d", len(sink.added), items)
	}
	for i, item := range sink.added {
		if item.Key != fmt.Sprint(i) || item.Object == nil {
			t.Fatalf("item %d is %q, decoded: %v", i, item.Key, item.Object != nil)
		}
	}
}
