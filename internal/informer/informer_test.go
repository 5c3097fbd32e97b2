// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/testing/goroutines"
)

func TestMain(m *testing.M) { goroutines.VerifyTestMain(m) }

// Each handler receives every event, in order, at its own pace. A blocked handler delays only
// HasSynced.
func TestHandlersAreIndependent(t *testing.T) {
	var first, second, slow []string
	runInformer(t, []string{"a=1", "b=1"}, nil, func(h *harness) {
		h.AddHandler("first", record(&first), 0)
		h.AddHandler("slow", func(e Event) {
			<-h.resume
			record(&slow)(e)
		}, 0)
		h.AddHandler("second", record(&second), 0)
	}, func(h *harness) {
		h.send(watch.Modified, "a=2", "11")
		h.send(watch.Deleted, "b=2", "12")
		want := []string{"A a →a=1 (initial)", "A b →b=1 (initial)", "U a a=1→a=2", "D b b=1→"}
		h.expect("first", first, want...)
		h.expect("second", second, want...)
		h.expect("slow", slow)
		if h.HasSynced() {
			h.t.Error("HasSynced, though one handler has received nothing")
		}
		if got := fmt.Sprint(h.Handlers()); got != "[{first first true 0 0s 0 4 0s  0s} {slow slow false 4 0s 0 0 0s a 0s} {second second true 0 0s 0 4 0s  0s}]" {
			h.t.Errorf("Handlers() = %s", got)
		}
		close(h.resume)
		if err := h.WaitForSync(h.t.Context()); err != nil {
			h.t.Error(err)
		}
		synctest.Wait()
		h.expect("slow", slow, want...)
	})
}

// Run waits ten seconds for all handlers together, and names one that is still running.
func TestBlockedHandlersAreNamed(t *testing.T) {
	runInformer(t, []string{"a=1"}, nil, func(h *harness) {
		for _, name := range []string{"good", "bad", "worse"} {
			h.AddHandler(name, func(Event) {
				if name != "good" {
					<-h.resume
				}
			}, 0)
		}
	}, func(h *harness) {
		began := time.Now()
		err := h.stop()
		if !errors.Is(err, ErrHandlerBlocked) || !strings.Contains(err.Error(), "bad") || time.Since(began) != 10*time.Second {
			h.t.Errorf("Run() = %v after %v", err, time.Since(began))
		}
		close(h.resume)
	})
}

func TestNegativeHandlerGraceWaitsWithoutLimit(t *testing.T) {
	runInformer(t, []string{"a=1"}, func(config *Config) { config.HandlerGrace = -1 }, func(h *harness) {
		h.AddHandler("slow", func(Event) { <-h.resume }, 0)
	}, func(h *harness) {
		h.cancel()
		<-time.After(time.Hour)
		select {
		case err := <-h.done:
			t.Errorf("Run returned %v during a handler's call", err)
		default:
		}
		if _, err := h.Add(HandlerConfig{Name: "late", OnEvent: func(Event) {}}); !errors.Is(err, ErrStopped) {
			t.Errorf("Add while the informer stops: %v", err)
		}
		close(h.resume)
	})
}

// A deletion carries the state sent with it and the state that the handler received last.
func TestDeletionShowsBothStates(t *testing.T) {
	var deletions []Event
	runInformer(t, []string{"a=1", "b=1"}, nil, func(h *harness) {
		h.AddHandler("", func(e Event) {
			if e.Type == Delete {
				deletions = append(deletions, e)
			}
		}, 0)
	}, func(h *harness) {
		h.send(watch.Deleted, "a=last", "11")
		if len(deletions) != 1 || deletions[0].Old != "a=1" || deletions[0].Final != "a=last" || deletions[0].New != nil {
			h.t.Errorf("deletions %+v", deletions)
		}
	})
}

// countingPacker counts the objects that it unpacks.
type countingPacker struct {
	rawPacker
	unpacked *atomic.Int64
}

func (p countingPacker) Unpack(object pack.Object) (any, error) {
	p.unpacked.Add(1)
	return p.rawPacker.Unpack(object)
}

// TestDeletionDecodesTheStatesThatAreRead counts the packed states that a deletion decodes for a
// handler that reads both, and for those that do not read the old one.
func TestDeletionDecodesTheStatesThatAreRead(t *testing.T) {
	for _, c := range []struct {
		config HandlerConfig
		want   int64
	}{
		{HandlerConfig{}, 2},
		{HandlerConfig{WithoutOldOfDeletions: true}, 1},
		{HandlerConfig{WithoutOld: true}, 1},
	} {
		var unpacked atomic.Int64
		counting := func(config *Config) { config.Store.Packer = countingPacker{unpacked: &unpacked} }
		runInformer(t, []string{"a=1", "b=1"}, counting, func(h *harness) {
			c.config.OnEvent = func(e Event) {
				if e.Type == Delete && (e.Final != "a=last" || (e.Old == "a=1") != (c.want == 2)) {
					t.Errorf("%+v", e)
				}
			}
			h.add(c.config)
		}, func(h *harness) {
			unpacked.Store(0)
			h.send(watch.Deleted, "a=last", "11")
			if got := unpacked.Load(); got != c.want {
				t.Errorf("%+v: %d states were decoded, want %d", c.config, got, c.want)
			}
		})
	}
}

// A packed state that cannot be decoded is not delivered, and later events are. A deletion is
// delivered if one of its two states can be decoded.
func TestUndecodableStatesAreSkipped(t *testing.T) {
	var log []string
	runInformer(t, []string{"a=1", "b=1"}, packed, func(h *harness) { h.AddHandler("", record(&log), 0) }, func(h *harness) {
		log = nil
		h.send(watch.Modified, "a=corrupt", "11")
		h.send(watch.Modified, "b=2", "12")
		h.expect("the handler", log, "U b b=1→b=2")
		if quarantined, _ := h.Store().QuarantineSize(); quarantined != 1 {
			h.t.Errorf("%d keys quarantined, want 1", quarantined)
		}
		log = nil
		h.send(watch.Modified, "a=3", "13")
		h.expect("the handler", log, "U a a=3→a=3")
		h.send(watch.Modified, "a=corrupt", "14")
		log = nil
		h.send(watch.Deleted, "a=last", "15")
		h.expect("the handler", log, "D a →")
	})
}

func TestEachHandlerHasItsOwnResyncPeriod(t *testing.T) {
	counts := make([]int, 3)
	runInformer(t, []string{"a=1", "b=1"}, nil, func(h *harness) {
		for i, period := range []time.Duration{0, 10 * time.Second, 30 * time.Second} {
			h.AddHandler(fmt.Sprint(i), func(e Event) {
				if e.Type == Update {
					counts[i]++
				}
			}, period)
		}
	}, func(h *harness) {
		<-time.After(61 * time.Second)
		synctest.Wait()
		if got := fmt.Sprint(counts); got != "[0 12 4]" {
			h.t.Errorf("updates in a minute: %s", got)
		}
	})
}

// The period of a resync begins when the one before it has been delivered.
func TestResyncPeriodBeginsAfterDelivery(t *testing.T) {
	var starts []time.Duration
	runInformer(t, []string{"a=1"}, nil, func(h *harness) {
		begin := time.Now()
		h.AddHandler("slow", func(e Event) {
			if e.Type == Update {
				starts = append(starts, time.Since(begin))
				<-time.After(30 * time.Second)
			}
		}, time.Minute)
	}, func(h *harness) {
		<-time.After(3*time.Minute + 45*time.Second)
		synctest.Wait()
		if got := fmt.Sprint(starts); got != "[1m0s 2m30s]" {
			h.t.Errorf("resyncs after %s, want [1m0s 2m30s]", got)
		}
	})
}

// After a panic and PanicDelay, a handler receives the next event.
func TestHandlerContinuesAfterPanic(t *testing.T) {
	defer func(crash bool) { utilruntime.ReallyCrash = crash }(utilruntime.ReallyCrash)
	utilruntime.ReallyCrash = false
	for _, continueOnPanic := range []bool{false, true} {
		var calls []time.Duration
		var panics []string
		var began time.Time
		runInformer(t, []string{"a=1", "b=1", "c=1"}, nil, func(h *harness) {
			began = time.Now()
			h.add(HandlerConfig{
				Name: "bad", ContinueOnPanic: continueOnPanic, PanicDelay: time.Second,
				OnPanic: func(_ context.Context, key string, r any) { panics = append(panics, fmt.Sprint(key, " ", r)) },
				OnEvent: func(e Event) {
					calls = append(calls, time.Since(began))
					if e.Key != "c" {
						panic("no " + e.Key)
					}
				},
			})
		}, func(h *harness) {
			<-time.After(5 * time.Second)
			synctest.Wait()
			h.expect("OnPanic", panics, "a no a", "b no b")
			if fmt.Sprint(calls) != "[0s 1s 2s]" || !h.HasSynced() {
				h.t.Errorf("calls at %v, synced %v", calls, h.HasSynced())
			}
		})
	}
}

// slowSource answers a list after a second.
type slowSource struct{ feed.Source }

func (s slowSource) List(ctx context.Context, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	<-time.After(time.Second)
	return s.Source.List(ctx, options, add)
}

// TestHandlerOfAnEmptyCollectionSyncs checks that a handler is synced although the list that ends
// its wait has no event for it.
func TestHandlerOfAnEmptyCollectionSyncs(t *testing.T) {
	slow := func(config *Config) { config.Reflector.Source = slowSource{config.Reflector.Source} }
	runInformer(t, nil, slow, func(h *harness) {
		h.AddHandler("idle", func(Event) {}, 0)
	}, func(h *harness) {
		if h.HasSynced() {
			h.t.Error("synced before the list")
		}
		<-time.After(2 * time.Second)
		if !h.HasSynced() {
			h.t.Error("not synced although the empty list is stored")
		}
	})
}

// A handler's lag is reported in events and in time, and both return to zero.
func TestLagIsMeasuredInEventsAndTime(t *testing.T) {
	runInformer(t, []string{"a=1"}, nil, func(h *harness) {
		h.AddHandler("slow", func(Event) { <-h.resume }, 0)
	}, func(h *harness) {
		h.send(watch.Modified, "a=2", "11")
		<-time.After(5 * time.Second)
		if got := h.Handlers()[0]; got.Backlog != 2 || got.Lag != 5*time.Second {
			h.t.Errorf("while blocked: %+v", got)
		}
		close(h.resume)
		synctest.Wait()
		if got := h.Handlers()[0]; got.Backlog != 0 || got.Lag != 0 {
			h.t.Errorf("after its return: %+v", got)
		}
	})
}
