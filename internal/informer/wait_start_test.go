// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// startWait starts a wait, makes a change as the wait registers, earlier or later, and returns the
// wait's error.
func (h *harness) startWait(steps int, wait func(context.Context) error, change func()) error {
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Hour)
	defer cancel()
	waited := make(chan error, 1)
	go func() { waited <- wait(ctx) }()
	for range steps {
		runtime.Gosched()
	}
	change()
	return <-waited
}

// A wait for a resourceVersion does not miss an event that arrives as the wait begins.
func TestWaitForVersionSeesEventAtItsStart(t *testing.T) {
	runInformer(t, nil, nil, func(*harness) {}, func(h *harness) {
		for n := range startedWaits {
			version := strconv.Itoa(11 + n)
			err := h.startWait(n%5, func(ctx context.Context) error {
				return h.WaitForResourceVersion(ctx, version)
			}, func() { h.feed.Apply(watch.Added, item("a="+version, version)) })
			if err != nil {
				h.t.Fatal(err)
			}
		}
	})
}

// A wait for the deletion of an object that could never be stored does not miss a deletion that
// arrives as the wait begins.
func TestWaitForDeleteSeesDeletionAtItsStart(t *testing.T) {
	runInformer(t, nil, failing, func(*harness) {}, func(h *harness) {
		for n := range startedWaits {
			h.feed.Apply(watch.Added, item("a=bad", strconv.Itoa(11+2*n)))
			err := h.startWait(n%5, func(ctx context.Context) error {
				return h.WaitForDelete(ctx, "a", "uid-a")
			}, func() { h.feed.Apply(watch.Deleted, item("a=bad", strconv.Itoa(12+2*n))) })
			if err != nil {
				h.t.Fatal(err)
			}
		}
	})
}

// startedWaits is how many waits start in a test.
const startedWaits = 2000

// A handler that is added while Run waits, for a function of the program or for another handler,
// is refused.
func TestStoppingInformerRefusesHandlers(t *testing.T) {
	for name, blocks := range map[string]string{"a function blocks": "decode", "a handler blocks": "handler"} {
		t.Run(name, func(t *testing.T) {
			var resume chan struct{}
			block := func(where string) {
				if where == blocks {
					<-resume
				}
			}
			runInformer(t, []string{"a=1"}, func(config *Config) {
				config.Store.Decode = func(i feed.Item) (any, error) {
					block("decode")
					return string(i.Raw), nil
				}
			}, func(h *harness) {
				resume = make(chan struct{}) // of the bubble
				h.AddHandler("first", func(Event) { block("handler") }, 0)
			}, func(h *harness) {
				h.cancel()
				synctest.Wait()
				if _, err := h.Add(HandlerConfig{Name: "late", OnEvent: func(Event) {}}); !errors.Is(err, ErrStopped) {
					h.t.Errorf("Add returned %v, want ErrStopped", err)
				}
				close(resume)
			})
		})
	}
}
