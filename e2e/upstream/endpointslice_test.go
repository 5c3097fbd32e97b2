// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestEndpointSlicesConverge checks that each Service gets correct EndpointSlices after the
// controller's handler was blocked while slices were created, changed and deleted, however the
// events were coalesced. The controller tracks the slices that it has created, and considers its
// cache stale until it has received each of them: if an Add and its Delete are both dropped, the
// slices stay incorrect forever.
func TestEndpointSlicesConverge(t *testing.T) {
	for _, d := range deliveries() {
		if d.ignoresTermination {
			continue // the tracker ignores deletionTimestamps
		}
		t.Run(d.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testFreshSlices(t, d) })
		})
	}
}

// soon is how long the controller may take. It delays each sync by a second to batch changes.
const soon = 3 * time.Second

func testFreshSlices(t *testing.T, d delivery) {
	t.Helper()
	s := startEndpointSlices(t, d, d)
	defer s.stop()
	defer s.release()

	s.serve("existing", 1)
	s.serve("scaled-down", 5)
	s.expectCorrect(soon)

	block(s.slicesGate, s.slices)
	s.serve("created", 1)
	s.serve("terminating", 1)
	advance(soon)
	s.removeSlices("created") // not by the controller
	s.terminateSlices("terminating")
	s.runPod("existing")
	s.runPod("scaled-down")
	s.scaleDown("scaled-down", 1)
	advance(soon)
	s.removeSlices("existing")
	s.removeSlices("terminating")
	for _, service := range []string{"created", "terminating", "existing", "scaled-down"} {
		s.runPod(service)
	}
	updateBackground(s.slices, backlogEvents)
	synctest.Wait()
	before := s.slicesGate.count()
	s.slicesGate.release()
	if !d.isCorrect() {
		s.expectStale("created", time.Hour)
		return
	}
	s.expectCorrect(soon)
	expectCoalesced(t, s.slicesGate.count()-before, d)
	for _, service := range []string{"created", "terminating", "existing", "scaled-down"} {
		s.runPod(service)
	}
	s.expectCorrect(soon)
}

// TestServicesBehindBlockedHandlers creates, changes, deletes and recreates Services and Pods while
// the handlers are blocked. The controller needs only the key of a Service, so that handler may be
// a key handler.
func TestServicesBehindBlockedHandlers(t *testing.T) {
	for _, d := range deliveries() {
		if !d.isCorrect() || d.rule != nil {
			continue
		}
		for _, keys := range []bool{false, true} {
			if keys && d.adapter {
				continue // client-go's interface has no key handlers
			}
			services := d
			services.keys = keys
			t.Run(fmt.Sprintf("%s, services by key %t", d.name, keys), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testServices(t, services, d) })
			})
		}
	}
}

func testServices(t *testing.T, services, others delivery) {
	t.Helper()
	s := startEndpointSlices(t, services, others)
	defer s.stop()
	defer s.release()

	for _, service := range []string{"unchanged", "changed", "deleted", "recreated", "scaled-down"} {
		s.serve(service, 2)
	}
	s.expectCorrect(soon)

	block(s.servicesGate, s.services)
	block(s.podsGate, s.pods)
	block(s.slicesGate, s.slices)
	s.serve("new", 1)
	s.runPod("unchanged")
	s.runPod("other")
	s.update("changed", func(service *corev1.Service) { service.Spec.Selector = map[string]string{"app": "other"} })
	s.remove("deleted")
	s.remove("recreated")
	s.removeSlices("recreated")
	s.serve("recreated", 1)
	s.serve("short-lived", 1)
	s.remove("short-lived")
	s.scaleDown("scaled-down", 0)
	updateBackground(s.services, backlogEvents)
	updateBackground(s.pods, backlogEvents)
	updateBackground(s.slices, backlogEvents)
	synctest.Wait()
	s.release()
	s.expectCorrect(soon)

	s.removeSlices("deleted") // like the garbage collector
	advance(soon)
	s.serve("deleted", 1)
	s.runPod("changed")
	s.runPod("other")
	s.expectCorrect(soon)
}
