// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// lostChange is a change whose events the server loses, and then an update of Pod c.
type lostChange struct {
	change func(h *cachetest.Harness)
	wrong  string   // what the store holds afterwards
	events []string // that a list delivers
}

var lostChanges = map[string]lostChange{
	"addition": {func(h *cachetest.Harness) { h.Create(cachetest.Pod("d")) }, "a@2 b@3 c@6", []string{"A d@5"}},
	"update":   {func(h *cachetest.Harness) { h.Update(cachetest.Pod("a")) }, "a@2 b@3 c@6", []string{"U a@2→5"}},
	"deletion": {func(h *cachetest.Harness) { h.Delete("ns/b") }, "a@2 b@3 c@6", []string{"D b@3"}},
	"recreation": {func(h *cachetest.Harness) {
		h.Delete("ns/b")
		h.Create(cachetest.Pod("b"))
	}, "a@2 b@3 c@7", []string{"D b@3", "A b@6"}},
}

// TestLostEventIsRepairedByTheNextList makes the server lose the events of a change, as a defect of
// its watch cache does. Nothing that follows in the stream shows it, so the store stays wrong about
// that object until the next list: after a 410 or a restart of the server, or because a resumed
// watch repeats the event that was lost. The list delivers what was lost, once.
func TestLostEventIsRepairedByTheNextList(t *testing.T) {
	for name, lost := range lostChanges {
		for reason, relist := range map[string]func(h *cachetest.Harness){
			"410": func(h *cachetest.Harness) { h.Send(fake.ErrorEvent(fake.Expired())) },
			"restart": func(h *cachetest.Harness) {
				h.InjectWatchFault(2, fake.Fault{Err: fake.Expired()}) // for the overlap, and for the version reached
				h.CloseWatches()
			},
			"lost connection": func(h *cachetest.Harness) { h.CloseWatches() },
		} {
			t.Run(name+", then "+reason, func(t *testing.T) {
				losing := false
				cachetest.InBubble(t, func(h *cachetest.Harness) {
					h.ExpectSynced()
					losing = true
					lost.change(h)
					losing = false
					h.Update(cachetest.Pod("c"))
					h.Bookmark()
					cachetest.Advance(4 * time.Minute)
					h.ExpectStored(lost.wrong)
					h.ExpectEvents("U c@4→" + h.ResourceVersion())
					h.ExpectNoError()

					relist(h)
					cachetest.Advance(time.Minute)
					h.ExpectStored(h.Served())
					h.ExpectEvents(lost.events...)
				}, func(h *cachetest.Harness) {
					h.InjectWatchFault(1, fake.Fault{EditEvent: func(event watch.Event) []watch.Event {
						if losing {
							return nil
						}
						return []watch.Event{event}
					}})
				})
			})
		}
	}
}

// TestCorruptObjectIsRemovedAfterItsDeletion lets the server fail to read one object, in lists and
// in watches, until an administrator deletes the object without an event. The other objects stay,
// and the next list removes the one.
func TestCorruptObjectIsRemovedAfterItsDeletion(t *testing.T) {
	corrupt := apierrors.NewInternalError(errors.New("storage corruption"))
	corrupt.ErrStatus.Reason = metav1.StatusReasonStoreReadError
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.InjectListFault(-1, fake.Fault{Err: corrupt})
		h.InjectWatchFault(-1, fake.Fault{EditEvent: replaceBy(fake.ErrorEvent(corrupt))})
		h.CloseWatches()
		h.Delete("ns/b")
		cachetest.Advance(time.Hour)
		h.ExpectStored("a@2 b@3 c@4")
		h.ExpectEvents()
		if status := h.Controller.Status(); !cachetest.ErrorContains("storage corruption")(status.Err) {
			t.Errorf("status %+v", status)
		}
		h.ClearFaults()
		h.InjectWatchFault(-1, fake.Fault{Err: fake.Expired()}) // the server does not have the deletion's event
		cachetest.Advance(time.Minute)
		h.ExpectEvents("D b@3")
		h.ExpectStored("a@2 c@4")
	})
}
