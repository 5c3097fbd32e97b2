// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"bytes"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/history"
	"github.com/kinformer/kinformer/internal/layout"
)

// editingCodec cuts "cut" out of the bytes. It cannot edit those with "keep".
type editingCodec struct{ nameCodec }

func (c editingCodec) Edit(dst []byte, item feed.Item) ([]byte, feed.Item, bool) {
	if bytes.Contains(item.Raw, []byte("keep")) {
		return append(dst, "part"...), item, false
	}
	edited := bytes.ReplaceAll(item.Raw, []byte("cut"), nil)
	item.Codec = c.nameCodec
	item.Layout = layout.New(len(edited))
	return append(dst, edited...), item, true
}

// editedSink records the items of events.
type editedSink struct {
	feed.Sink
	items []feed.Item
}

func (s *editedSink) Apply(_ watch.EventType, item feed.Item) feed.Outcome {
	item.Raw = bytes.Clone(item.Raw)
	s.items = append(s.items, item)
	return feed.Applied
}

// TestSinkReceivesEditedItems adds the items of a list, of an initial state and of events whose
// codec edits their bytes.
func TestSinkReceivesEditedItems(t *testing.T) {
	items := func() (items []feed.Item) {
		for _, raw := range []string{"a-cut", "b", "keep-cut", "c-cut"} {
			items = append(items, feed.Item{Key: raw, Raw: []byte(raw), Codec: editingCodec{}, Layout: layout.New(len(raw))})
		}
		return items
	}
	check := func(name string, got []feed.Item) {
		t.Helper()
		want := []string{"a-", "b", "keep-cut", "c-"}
		if len(got) != len(want) {
			t.Fatalf("%s: %d items, want %d", name, len(got), len(want))
		}
		for i, item := range got {
			_, edits := item.Codec.(feed.EditingCodec)
			if string(item.Raw) != want[i] || edits != (want[i] == "keep-cut") || !item.Layout.Fits(item.Raw) {
				t.Errorf("%s: item %d is %+v with bytes %q, want %q", name, i, item, item.Raw, want[i])
			}
		}
	}
	listed := &recordingReplacement{}
	p := newDecodePipeline(listed, new(history.List), DefaultInFlight)
	for _, item := range items() {
		p.add(item)
	}
	if err := p.finish(false); err != nil {
		t.Fatal(err)
	}
	check("list", listed.added)

	sink, initial := &editedSink{}, &recordingReplacement{held: map[string]bool{"held-cut": true}}
	s := watchSession{r: New(Config{Sink: sink}), initial: initial}
	for _, item := range items() {
		s.addInitial(watch.Added, item)
	}
	check("initial state", initial.added)
	s.addInitial(watch.Added, feed.Item{Key: "held-cut", Raw: []byte("held-cut"), Codec: editingCodec{}})
	if got := initial.added[len(initial.added)-1]; string(got.Raw) != "held-cut" {
		t.Errorf("an object that the sink has was edited to %q", got.Raw)
	}
	for _, item := range items() {
		s.apply(watch.Modified, item)
	}
	check("events", sink.items)
}
