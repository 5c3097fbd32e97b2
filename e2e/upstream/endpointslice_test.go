package upstream

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The EndpointSlice controller notes which slices it has made, and believes that its cache is stale for as long as it has not
// been told of each. Behind a stuck handler slices are made, change and go; once the handler is told, whatever was joined,
// each Service has the slices that it ought to have. If an Add and its Delete are both dropped, it never has them.
func TestNoSliceStaysStale(t *testing.T) {
	for _, how := range deliveries() {
		if how.blind {
			continue // the tracker does not mind
		}
		t.Run(how.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { expectFreshSlices(t, how) })
		})
	}
}

// soon is how long the controller may take: it waits a second itself, to see what else has changed.
const soon = 3 * time.Second

func expectFreshSlices(t *testing.T, how delivery) {
	t.Helper()
	s := startEndpointSlices(t, how, how)
	defer s.stop()
	defer s.release()

	s.serve("known", 1)
	s.serve("shrinks", 5)
	s.expectWithin(soon)

	stick(s.slicesGate, s.slices)
	s.serve("created", 1)
	s.serve("ending", 1)
	pass(soon)
	s.removeSlices("created") // by somebody
	s.terminateSlices("ending")
	s.run("known")
	s.run("shrinks")
	s.shrink("shrinks", 1)
	pass(soon)
	s.removeSlices("known")
	s.removeSlices("ending")
	for _, service := range []string{"created", "ending", "known", "shrinks"} {
		s.run(service)
	}
	crowd(s.slices, backlog)
	synctest.Wait()
	before := s.slicesGate.count()
	s.slicesGate.release()
	if !how.sound() {
		s.expectStale("created", time.Hour)
		return
	}
	s.expectWithin(soon)
	expectJoined(t, s.slicesGate.count()-before, how)
	for _, service := range []string{"created", "ending", "known", "shrinks"} {
		s.run(service)
	}
	s.expectWithin(soon)
}

// Services come, change, go and come again behind stuck handlers, and their Pods too. What the controller does with a Service
// needs its key alone, so that handler may be one of keys.
func TestServicesBehindStuckHandlers(t *testing.T) {
	for _, how := range deliveries() {
		if !how.sound() || how.rule != nil {
			continue
		}
		for _, keys := range []bool{false, true} {
			if keys && how.adapter {
				continue // client-go's interface has no such handlers
			}
			ofServices := how
			ofServices.keys = keys
			t.Run(fmt.Sprintf("%s, services by key %t", how.name, keys), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { expectServed(t, ofServices, how) })
			})
		}
	}
}

func expectServed(t *testing.T, ofServices, ofOthers delivery) {
	t.Helper()
	s := startEndpointSlices(t, ofServices, ofOthers)
	defer s.stop()
	defer s.release()

	for _, service := range []string{"stays", "changes", "goes", "returns", "loses"} {
		s.serve(service, 2)
	}
	s.expectWithin(soon)

	stick(s.servicesGate, s.services)
	stick(s.podsGate, s.pods)
	stick(s.slicesGate, s.slices)
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
	crowd(s.services, backlog)
	crowd(s.pods, backlog)
	crowd(s.slices, backlog)
	synctest.Wait()
	s.release()
	s.expectWithin(soon)

	s.removeSlices("goes") // as the garbage collector does
	pass(soon)
	s.serve("goes", 1)
	s.run("changes")
	s.run("other")
	s.expectWithin(soon)
}
