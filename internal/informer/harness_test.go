// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/store"
)

// scriptedSource is a source of strings of the form key=state: a list, then the events that are
// sent.
type scriptedSource struct {
	list    []string
	version string
	events  chan scriptedEvent
}

type scriptedEvent struct {
	eventType watch.EventType
	object    string
	version   string
}

func item(object, version string) feed.Item {
	key, _, _ := strings.Cut(object, "=")
	return feed.Item{Key: key, UID: "uid-" + key, ResourceVersion: version, Raw: []byte(object)}
}

func (s *scriptedSource) List(_ context.Context, _ metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	for _, object := range s.list {
		if err := add(item(object, s.version)); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return metav1.ListMeta{ResourceVersion: s.version}, nil
}

func (s *scriptedSource) Watch(ctx context.Context, _ metav1.ListOptions, events feed.WatchSink) error {
	events.Opened()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-s.events:
			if err := events.Event(e.eventType, item(e.object, e.version)); err != nil {
				return err
			}
		}
	}
}

// Traits implements feed.Source.
func (*scriptedSource) Traits() feed.Traits { return feed.Traits{} }

// rawPacker packs objects unchanged. An object in the state "corrupt" cannot be unpacked.
type rawPacker struct{}

func (rawPacker) Pack(item feed.Item, _ pack.Object, _ func() (any, error)) (pack.Object, error) {
	return pack.New().Pack(item.Raw, "", pack.Object{}, pack.Excerpt{}), nil
}

func (rawPacker) Unpack(object pack.Object) (any, error) {
	raw, err := object.Unpack(nil)
	if err == nil && strings.HasSuffix(string(raw), "=corrupt") {
		return "", errors.New("corrupt")
	}
	return string(raw), err
}

// stringStore configures a store of strings.
func stringStore() store.Config {
	return store.Config{
		Key:      func(object any) (string, error) { key, _, _ := strings.Cut(object.(string), "="); return key, nil },
		ItemKeys: true,
		Identity: func(any) (string, string) { return "", "" },
		Decode:   func(item feed.Item) (any, error) { return string(item.Raw), nil },
		Report:   func(string, error) {},
	}
}

// failing makes the objects in state "bad" fail to decode.
func failing(config *Config) {
	config.Store.Decode = func(item feed.Item) (any, error) {
		if strings.HasSuffix(string(item.Raw), "=bad") {
			return "", errors.New("bad")
		}
		return string(item.Raw), nil
	}
}

// packed makes the store of an informer keep strings packed.
func packed(config *Config) { config.Store.Packer = rawPacker{} }

// coalescing makes an informer coalesce from a backlog of four events on, for handlers that read
// batchSize changes at a time.
func coalescing(batchSize int) func(*Config) {
	return func(config *Config) {
		config.CoalesceThreshold, config.batchSize = 4, batchSize
		config.Terminating = func(object any) bool { return strings.Contains(object.(string), "deleting") }
	}
}

// AddHandler adds a handler that receives every event.
func (i *Informer) AddHandler(name string, onEvent func(Event), resync time.Duration) {
	if _, err := i.Add(HandlerConfig{Name: name, OnEvent: onEvent, EveryEvent: true, Resync: resync}); err != nil {
		panic(err)
	}
}

// harness is an informer with a scripted source, in a synctest bubble.
type harness struct {
	*Informer
	t      *testing.T
	source *scriptedSource
	cancel context.CancelFunc
	done   chan error    // receives the result of Run
	ended  bool          // by stop
	resume chan struct{} // closed by a test to let blocked functions return
}

// runInformer calls prepare before Run, and test once the listed objects are delivered. Unless
// test stops the informer, it must stop without an error after test.
func runInformer(t *testing.T, list []string, configure func(*Config), prepare, test func(h *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		source := &scriptedSource{list: list, version: "10", events: make(chan scriptedEvent)}
		config := Config{Name: "strings", Store: stringStore(), Reflector: reflector.Config{Source: source}}
		if configure != nil {
			configure(&config)
		}
		h := &harness{t: t, source: source, Informer: New(config), done: make(chan error, 1), resume: make(chan struct{})}
		prepare(h)
		var ctx context.Context
		ctx, h.cancel = context.WithCancel(t.Context())
		go func() { h.done <- h.Run(ctx) }()
		synctest.Wait()
		test(h)
		if h.ended {
			return
		}
		if err := h.stop(); err != nil {
			t.Error(err)
		}
	})
}

// stop ends the context of Run and returns the result of Run.
func (h *harness) stop() error {
	h.ended = true
	h.cancel()
	return <-h.done
}

func (h *harness) add(config HandlerConfig) *Handler {
	h.t.Helper()
	return add(h.t, h.Informer, config)
}

// add adds a handler to an informer.
func add(tb testing.TB, i *Informer, config HandlerConfig) *Handler {
	tb.Helper()
	handler, err := i.Add(config)
	if err != nil {
		tb.Fatal(err)
	}
	return handler
}

// start runs an informer until stop is called, which returns the result of Run.
func start(i *Informer) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- i.Run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

// replace replaces the objects of an informer by those of a list.
func replace(t *testing.T, i *Informer, version string, items ...feed.Item) {
	t.Helper()
	list := i.feed.Begin()
	for _, item := range items {
		list.Add(item)
	}
	if err := list.Commit(version); err != nil {
		t.Error(err)
	}
}

func (h *harness) send(eventType watch.EventType, object, version string) {
	h.source.events <- scriptedEvent{eventType, object, version}
	synctest.Wait()
}

// sendUpdates sends n updates of object a, in states and versions that count from a number on.
func (h *harness) sendUpdates(from, n int) {
	for k := range n {
		h.send(watch.Modified, fmt.Sprint("a=", from+k), fmt.Sprint(from+k))
	}
}

// textOf returns a state of an event, or an empty string if the event has none.
func textOf(state any) string {
	text, _ := state.(string)
	return text
}

// record returns a callback that appends a description of each event to log.
func record(log *[]string) func(Event) {
	return func(e Event) {
		description := fmt.Sprint(string(e.Type[:1]), " ", e.Key, " ", textOf(e.Old), "→", textOf(e.New))
		if e.InInitialList {
			description += " (initial)"
		}
		*log = append(*log, description)
	}
}

func (h *harness) expect(handler string, got []string, want ...string) {
	h.t.Helper()
	if !slices.Equal(got, want) {
		h.t.Errorf("%s received %q, want %q", handler, got, want)
	}
}
