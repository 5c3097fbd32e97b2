// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package shard

import (
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"
)

// startGroup starts members and lets them divide the slots.
func startGroup(t *testing.T, members int) *simulation {
	t.Helper()
	seedJitter()
	s := schedule{options: Options{Group: "web"}.withDefaults(), latency: time.Millisecond}
	x := &simulation{T: t, schedule: s, server: newSimulatedServer(s.options), current: make(map[int]*process), began: time.Now()}
	for n := range members {
		x.start(n, 1)
	}
	x.pass(x.bound())
	x.checkShares()
	return x
}

// stick makes the watches of members stuck: the connections stay open, without events.
func (x *simulation) stick(members int) {
	x.logf("the watches of %d members are stuck", members)
	for n := range members {
		x.fault(24*time.Hour, x.current[n].network.events.close, x.current[n].network.events.open)
	}
}

// requestsIn lets time pass, and returns the number of requests of all members.
func (x *simulation) requestsIn(d time.Duration) (n uint64) {
	x.Helper()
	before := x.requests()
	x.pass(d)
	return x.requests() - before
}

func (x *simulation) requests() (n uint64) {
	for _, p := range x.server.running() {
		p.network.set(func(network *network) {
			for _, sent := range network.sent {
				n += sent
			}
		})
	}
	return n
}

// A stuck watch shows all members as failed, this one too.
func TestStuckWatchesDoNotFloodTheServer(t *testing.T) {
	for _, stuck := range []int{1, stuckMembers} {
		t.Run(fmt.Sprintf("%d of %d", stuck, stuckMembers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := startGroup(t, stuckMembers)
				healthy := x.requestsIn(time.Minute)
				x.stick(stuck)
				owners := maps.Clone(x.server.last)
				got := x.requestsIn(time.Minute)
				t.Logf("%d requests a minute, %d with stuck watches", healthy, got)
				if got > 2*healthy {
					t.Errorf("%d requests with stuck watches, %d without", got, healthy)
				}
				if !maps.Equal(owners, x.server.last) {
					t.Errorf("slots have moved: transitions %v, then %v", owners, x.server.last)
				}
				x.end()
			})
		})
	}
}

// While all watches are stuck, a member dies, and with it the member that should take note.
func TestFailedMemberIsReplacedWhileWatchesAreStuck(t *testing.T) {
	for _, test := range []struct {
		name   string
		second func(preferred *process) // fault of the observer that is preferred
		within float64                  // LeaseDurations
	}{
		{"alone", func(*process) {}, 2},
		{"its observer fails, too", (*process).crash, 2},
		{"its observer cannot list", func(p *process) { p.network.lists.close() }, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := startGroup(t, 5)
				x.stick(5)
				x.pass(time.Minute)
				dead := x.current[0]
				dead.crash()
				preferred := x.preferred(dead)
				test.second(preferred)
				options := x.schedule.options
				x.pass(time.Duration(test.within*float64(options.LeaseDuration)) + 4*options.RetryPeriod)
				if free := x.free(); free > 0 {
					x.fail(fmt.Sprintf("%d slots have no owner", free))
				}
				preferred.network.lists.reset()
				x.end()
			})
		})
	}
}

// preferred returns the member that is preferred to expire the Lease of another one.
func (x *simulation) preferred(of *process) (best *process) {
	lease := of.member.options.memberLeaseName()
	for _, p := range x.server.running() {
		if best == nil || preference(p.member.options.Identity, lease) > preference(best.member.options.Identity, lease) {
			best = p
		}
	}
	return best
}

// The status says that the view is stale, until events arrive again.
func TestStatusSaysThatTheViewIsStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := startGroup(t, 2)
		x.stick(1)
		x.pass(x.schedule.options.LeaseDuration)
		since := x.current[0].member.Status().StaleSince
		if age := x.current[0].clock.now().wall.Sub(since); age < 10*time.Second || age > 15*time.Second {
			t.Errorf("the view is stale since %v, which is %v", since, age)
		}
		if since := x.current[1].member.Status().StaleSince; !since.IsZero() {
			t.Errorf("the view of the other member is stale since %v", since)
		}
		x.endFaults()
		x.pass(2 * x.schedule.options.renewInterval())
		if since := x.current[0].member.Status().StaleSince; !since.IsZero() {
			t.Errorf("the view is stale since %v after events have arrived", since)
		}
		x.end()
	})
}

// A stuck watch of Leases is logged, at most once in five minutes.
func TestStuckWatchIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, lines := collectLines(t, "Watch of Leases is stuck")
		options := Options{Group: "web", Identity: "a"}.withDefaults()
		leases := newNetwork(newSimulatedServer(options), &gate{}, 1, time.Millisecond)
		stop := runMember(ctx, t, newTestMember(t, leases, "a"))
		<-time.After(time.Minute)
		if len(lines()) > 0 {
			t.Error("a watch that works is logged as stuck")
		}
		leases.events.close()
		<-time.After(12 * time.Minute)
		if got := len(lines()); got < 1 || got > 3 {
			t.Errorf("%d lines in twelve minutes", got)
		}
		leases.events.open()
		stop()
	})
}
