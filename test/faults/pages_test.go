// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestPagesOfTwoSnapshotsAreNotCombined changes the collection after each page of a list, and lets
// the continue token of one page expire. The pages are dropped, the list restarts, and the store
// holds exactly the server's state at the version of the list that completed.
func TestPagesOfTwoSnapshotsAreNotCombined(t *testing.T) {
	for expired := 2; expired <= 5; expired++ {
		for _, initial := range []bool{true, false} {
			t.Run(fmt.Sprintf("page %d, initial list: %v", expired, initial), func(t *testing.T) {
				states := make(map[string]string) // of the server, by version
				inject := func(h *cachetest.Harness) {
					h.InjectListFault(expired-1, fake.Fault{EditList: changeAfterPage(h, states)})
					h.InjectListFault(1, fake.Fault{Err: fake.Expired()})
					h.InjectListFault(5, fake.Fault{EditList: changeAfterPage(h, states)})
					h.InjectWatchFault(1, fake.Fault{Delay: time.Minute}) // the list's state stays for so long
				}
				overEachClient(t, cache.ReflectorOptions{PageSize: 1}, func(h *cachetest.Harness, _ *network) {
					if !initial {
						cachetest.Advance(time.Minute)
						h.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
						inject(h)
						h.CloseWatches()
					}
					cachetest.Advance(50 * time.Second)
					snapshot := h.Store.Snapshot()
					if want, ok := states[snapshot.ResourceVersion()]; !ok || cachetest.Describe(snapshot.List()) != want {
						h.T.Errorf("the list at %q is [%s], want [%s]", snapshot.ResourceVersion(), cachetest.Describe(snapshot.List()), want)
					}
					h.CheckHandlerState()
					expectCompleteLists(h)
					h.ClearFaults()
					cachetest.Advance(time.Minute)
					h.ExpectStored(h.Served())
				}, func(h *cachetest.Harness, _ *network) {
					for _, name := range []string{"d", "e"} {
						h.Create(cachetest.Pod(name))
					}
					if initial {
						h.InjectListFault(1, fake.Fault{Err: fake.Expired()}) // a consistent read has pages
						inject(h)
					}
				})
			})
		}
	}
}

// changeAfterPage returns an EditList function that changes the collection after it was read: it
// deletes or creates one object, and updates the others. It records the server's states.
func changeAfterPage(h *cachetest.Harness, states map[string]string) func(runtime.Object) runtime.Object {
	names := []string{"a", "b", "c", "d", "e"}
	return func(page runtime.Object) runtime.Object {
		states[h.ResourceVersion()] = podsOf(h, names)
		chosen := names[len(states)/len(names)%len(names)]
		for _, name := range names {
			_, exists := h.Get("ns/" + name)
			switch {
			case exists && name == chosen:
				h.Delete("ns/" + name)
			case exists:
				h.Update(cachetest.Pod(name))
			case name == chosen:
				h.Create(cachetest.Pod(name))
			}
			states[h.ResourceVersion()] = podsOf(h, names)
		}
		return page
	}
}

// podsOf describes the server's Pods without a request.
func podsOf(h *cachetest.Harness, names []string) string {
	var pods []*corev1.Pod
	for _, name := range names {
		if p, ok := h.Get("ns/" + name); ok {
			pods = append(pods, p)
		}
	}
	return cachetest.Describe(pods)
}
