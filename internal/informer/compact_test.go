// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// A handler that is blocked in its first call receives changes coalesced by the rules in doc.go.
func TestCoalescingRules(t *testing.T) {
	var log []string
	runInformer(t, []string{"a=1", "b=1", "c=1", "d=1"}, coalescing(batchSize), func(h *harness) {
		h.add(HandlerConfig{Name: "blocked", OnEvent: func(e Event) {
			record(&log)(e)
			if e.Coalesced > 0 {
				log[len(log)-1] += fmt.Sprint(" +", e.Coalesced)
			}
			<-h.resume
		}})
	}, func(h *harness) {
		log = nil
		h.sendUpdates(11, 10)
		for version, object := range []string{
			"b=2", "-b=last", "e=1", "e=2", "e=deleting", "e=deleting3", "-e=last", "e=again", "f=1", "f=2", "c=2", "g=1", "-g=last",
		} {
			eventType := watch.Modified
			if strings.HasPrefix(object, "-") {
				eventType, object = watch.Deleted, object[1:]
			}
			h.send(eventType, object, fmt.Sprint(30+version))
		}
		if handler := h.currentHandlers()[0]; handler.position() < h.log.Appended()-1 || handler.backlog.n > 10 {
			h.t.Errorf("%d of %d events compacted, a backlog of %d", handler.position(), h.log.Appended(), handler.backlog.n)
		}
		close(h.resume)
		synctest.Wait()
		h.expect("the handler", log[3:],
			"U a a=1→a=20 +9", "D b b=1→ +1", "A e →e=2 +1", "D e e=2→ +2", "A e →e=again",
			"A f →f=2 +1", "U c c=1→c=2", "A g →g=1", "D g g=1→")
	})
}

// A resync that is due during compaction is delivered once the handler has caught up, and carries
// no older states than those delivered before.
func TestResyncIsDeferredDuringCompaction(t *testing.T) {
	var log []string
	runInformer(t, []string{"a=1"}, coalescing(1), func(h *harness) {
		h.add(HandlerConfig{Name: "blocked", Resync: time.Minute, OnEvent: func(e Event) {
			record(&log)(e)
			if e.New == "a=11" || e.New == "a=30" || e.New == "a=31" || strings.HasSuffix(textOf(e.New), "!") {
				<-h.resume
			}
		}})
	}, func(h *harness) {
		h.sendUpdates(11, 10)
		<-time.After(2 * time.Minute)
		h.resume <- struct{}{}
		synctest.Wait()
		h.expect("the handler", log, "A a →a=1 (initial)", "U a a=1→a=11", "U a a=11→a=20", "U a a=20→a=20")
		log = nil
		h.sendUpdates(30, 3) // blocks at the first
		<-time.After(time.Minute)
		h.resume <- struct{}{} // the resync is due after the third; blocks at the second
		synctest.Wait()
		h.sendUpdates(33, 10)
		h.resume <- struct{}{}
		synctest.Wait()
		h.expect("the handler", log, "U a a=20→a=30", "U a a=30→a=31", "U a a=31→a=42", "U a a=42→a=42")
		log = nil
		h.send(watch.Modified, "a=50!", "50")
		h.send(watch.Added, "b=51!", "51")
		h.sendUpdates(52, 4)
		<-time.After(time.Minute)
		h.resume <- struct{}{} // the resync is due while updates of a are undelivered; blocks at b
		synctest.Wait()
		h.sendUpdates(56, 4)
		h.resume <- struct{}{}
		synctest.Wait()
		h.expect("the handler", log[:3], "U a a=42→a=50!", "A b →b=51!", "U a a=50!→a=59")
		if len(log) < 4 || log[3] != "U a a=59→a=59" && log[3] != "U b b=51!→b=51!" {
			h.t.Errorf("the handler received %q, and no resync", log)
		}
		close(h.resume)
	})
}

// Deletions of an object that was never stored are delivered with the state at deletion. A blocked
// handler receives one for all of the same object, which may follow its own deletion, and a key
// handler each key. A handler that is added later does not receive them.
func TestDeletionsOfUnstoredObjectsAreDelivered(t *testing.T) {
	for _, packs := range []bool{false, true} {
		var all, log, late []string
		var keys []KeyEvent
		runInformer(t, []string{"a=1"}, func(config *Config) {
			coalescing(batchSize)(config)
			if config.Store.EmitUnstoredDeletions = true; packs {
				packed(config)
			}
		}, func(h *harness) {
			h.AddHandler("all", record(&all), 0)
			h.add(HandlerConfig{Name: "blocked", OnEvent: func(e Event) {
				record(&log)(e)
				log[len(log)-1] += fmt.Sprintf("%s +%d", textOf(e.Final), e.Coalesced)
				if e.FinalStateUnknown || e.LeftScope {
					t.Errorf("event %+v of an unstored object", e)
				}
				<-h.resume
			}})
			h.add(HandlerConfig{Name: "keys", OnKey: func(e KeyEvent) { keys = append(keys, e); <-h.resume }})
		}, func(h *harness) {
			all = nil
			h.sendUpdates(11, 2)
			for version, object := range []string{"b=1", "b=2", "a=last", "a=again", "c=1", "b=3"} {
				h.send(watch.Deleted, object, fmt.Sprint(20+version))
			}
			h.send(watch.Added, "b=4", "30")
			h.sendUpdates(31, 10)
			h.add(HandlerConfig{Name: "late", OnEvent: record(&late)})
			h.send(watch.Deleted, "d=1", "50")
			if got := h.Store().ResourceVersion(); got != "50" {
				t.Errorf("the store is at %s, want 50", got)
			}
			close(h.resume)
			synctest.Wait()
			h.expect("every event", all[2:8], "D b b=1→", "D b b=2→", "D a a=12→", "D a a=again→", "D c c=1→", "D b b=3→")
			h.expect("a blocked handler", log, "A a →a=1 (initial) +0", "D a a=1→a=again +3", "D b b=1→b=3 +2",
				"D c c=1→c=1 +0", "A b →b=4 +0", "A a →a=40 +9", "D d d=1→d=1 +0")
			if slices.Sort(late); !slices.Equal(late, []string{"A a →a=40 (initial)", "A b →b=4 (initial)", "D d d=1→"}) {
				t.Errorf("the late handler received %q", late)
			}
			for _, key := range []string{"b", "c", "d"} {
				if !slices.Contains(keys, KeyEvent{Key: key}) {
					t.Errorf("the key handler received %v, not %s", keys, key)
				}
			}
		})
	}
}

// A deletion that a list has found does not know the final state, whether or not an update was
// coalesced into it. Final is the last known state, Old the last one delivered.
func TestCoalescedDeletionFoundByAListHasNoFinalState(t *testing.T) {
	var events []Event
	runInformer(t, []string{"a=1", "b=1"}, coalescing(1), func(h *harness) {
		h.add(HandlerConfig{Name: "blocked", OnEvent: func(e Event) {
			if events = append(events, e); !e.InInitialList {
				<-h.resume
			}
		}})
	}, func(h *harness) {
		h.sendUpdates(11, 10)
		h.send(watch.Modified, "b=2", "30")
		replace(t, h.Informer, "31", item("a=20", "20"))
		h.sendUpdates(40, 10) // so that the deletion is compacted
		close(h.resume)
		synctest.Wait()
		last := events[slices.IndexFunc(events, func(e Event) bool { return e.Type == Delete })]
		want := Event{Type: Delete, Key: "b", Old: "b=1", Final: "b=2", FinalStateUnknown: true, Coalesced: 1}
		if last != want {
			t.Errorf("the last event is %+v, want %+v", last, want)
		}
	})
}
