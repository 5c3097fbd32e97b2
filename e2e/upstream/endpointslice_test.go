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
	for _, how := range deliveries() {
		if how.mergesTermination {
			continue // the tracker ignores deletionTimestamps
		}
		t.Run(how.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testFreshSlices(t, how) })
		})
	}
}

// soon is how long the controller may take. It delays each sync by a second to batch changes.
const soon = 3 * time.Second

func testFreshSlices(t *testing.T, how delivery) {
	t.Helper()
	s := startEndpointSlices(t, how, how)
	defer s.stop()
	defer s.release()

	s.serve("known", 1)
	s.serve("shrinks", 5)
	s.expectWithin(soon)

	block(s.slicesGate, s.slices)
	s.serve("created", 1)
	s.serve("ending", 1)
	advance(soon)
	s.removeSlices("created") // not by the controller
	s.terminateSlices("ending")
	s.run("known")
	s.run("shrinks")
	s.shrink("shrinks", 1)
	advance(soon)
	s.removeSlices("known")
	s.removeSlices("ending")
	for _, service := range []string{"created", "ending", "known", "shrinks"} {
		s.run(service)
	}
	updateBackground(s.slices, backlogEvents)
	synctest.Wait()
	before := s.slicesGate.count()
	s.slicesGate.release()
	if !how.isCorrect() {
		s.expectStale("created", time.Hour)
		return
	}
	s.expectWithin(soon)
	expectCoalesced(t, s.slicesGate.count()-before, how)
	for _, service := range []string{"created", "ending", "known", "shrinks"} {
		s.run(service)
	}
	s.expectWithin(soon)
}

// TestServicesBehindBlockedHandlers creates, changes, deletes and recreates Services and Pods while
// the handlers are blocked. The controller needs only the key of a Service, so that handler may be
// a key handler.
func TestServicesBehindBlockedHandlers(t *testing.T) {
	for _, how := range deliveries() {
		if !how.isCorrect() || how.rule != nil {
			continue
		}
		for _, keys := range []bool{false, true} {
			if keys && how.adapter {
				continue // client-go's interface has no key handlers
			}
			ofServices := how
			ofServices.keys = keys
			t.Run(fmt.Sprintf("%s, services by key %t", how.name, keys), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testServices(t, ofServices, how) })
			})
		}
	}
}

func testServices(t *testing.T, ofServices, ofOthers delivery) {
	t.Helper()
	s := startEndpointSlices(t, ofServices, ofOthers)
	defer s.stop()
	defer s.release()

	for _, service := range []string{"stays", "changes", "goes", "returns", "loses"} {
		s.serve(service, 2)
	}
	s.expectWithin(soon)

	block(s.servicesGate, s.services)
	block(s.podsGate, s.pods)
	block(s.slicesGate, s.slices)
	s.serve("new", 1)
	s.run("stays")
	s.run("other")
	s.change("changes", func(service *corev1.Service) { service.Spec.Selector = map[string]string{"app": "other"} })
	s.remove("goes")
	s.remove("returns")
	s.removeSlices("returns")
	s.serve("returns", 1)
	s.serve("passes", 1)
	s.remove("passes")
	s.shrink("loses", 0)
	updateBackground(s.services, backlogEvents)
	updateBackground(s.pods, backlogEvents)
	updateBackground(s.slices, backlogEvents)
	synctest.Wait()
	s.release()
	s.expectWithin(soon)

	s.removeSlices("goes") // like the garbage collector
	advance(soon)
	s.serve("goes", 1)
	s.run("changes")
	s.run("other")
	s.expectWithin(soon)
}
