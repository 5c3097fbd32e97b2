package informer

import (
	"runtime"
	"testing"
	"weak"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/store"
)

// state is a value that is allocated alone, as it has a pointer.
type state struct{ key string }

// A coalesced change keeps two states of its object alive: the last one delivered and the latest.
// Those in between are collected, although the log's entries of a change share an allocation.
func TestBacklogKeepsTwoStatesOfAnObject(t *testing.T) {
	const states = 6
	var values [states]weak.Pointer[state]
	n := 0
	informer := New(Config[*state]{Store: store.Config[*state]{
		Key: func(s *state) (string, error) { return s.key, nil }, ItemKeys: true,
		Identity: func(*state) (string, string) { return "", "" },
		Decode: func(i feed.Item) (*state, error) {
			value := &state{key: i.Key}
			values[n] = weak.Make(value)
			n++
			return value, nil
		},
		Report: func(string, error) {},
	}})
	cursor := informer.log.Cursor()
	h := newHandler(HandlerConfig[*state]{Name: "blocked"}, informer)
	for range states {
		informer.store.Apply(watch.Modified, feed.Item{Key: "a", UID: "uid", ResourceVersion: string(rune('1' + n))})
	}
	cursor.TryNext() // the addition, which was delivered
	for range states - 1 {
		batch, _ := cursor.TryNext()
		h.backlog.add(&batch[0], 0, h.coalesce)
	}
	runtime.GC()
	runtime.GC()
	for i, value := range values {
		if alive, want := value.Value() != nil, i == 0 || i == states-1; alive != want {
			t.Errorf("state %d is alive: %v, want %v", i, alive, want)
		}
	}
	runtime.KeepAlive(h)
	runtime.KeepAlive(informer)
}
