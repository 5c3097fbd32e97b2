// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kinformer/kinformer/e2e/cluster"
)

const (
	shardSlots = 32
	stampKey   = "e2e.example.com/stamp" // as in sharded/main.go
)

// ownedSlots returns how many slots each replica owns: those whose Leases name the incarnation that
// holds the replica's own Lease.
func (g *shardGroupHarness) ownedSlots(ctx context.Context) (map[string]int, error) {
	leases, err := g.clientset.CoordinationV1().Leases(g.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	incarnations, owned := map[string]string{}, map[string]int{}
	for _, lease := range leases.Items {
		if identity, ok := strings.CutPrefix(lease.Name, shardGroup+"-member-"); ok {
			incarnations[ptr.Deref(lease.Spec.HolderIdentity, "")] = identity
		}
	}
	free := 0
	for _, lease := range leases.Items {
		if !isSlotLease(lease.Name) {
			continue
		}
		if identity, ok := incarnations[ptr.Deref(lease.Spec.HolderIdentity, "")]; ok {
			owned[identity]++
		} else {
			free++
		}
	}
	if free > 0 {
		return nil, fmt.Errorf("%w: %d slots are free", errNotAtRest, free)
	}
	return owned, nil
}

func isSlotLease(name string) bool { return strings.HasPrefix(name, shardGroup+"-slot-") }

// stampChecker reads the history of the ConfigMaps and of the slots' Leases from etcd.
type stampChecker struct {
	namespaces []string

	mu      sync.Mutex // guards the fields below
	err     error
	slots   map[int][]ownership
	stamps  map[types.UID][]stamp
	waiting map[string]time.Time // of the first change without a stamp, by key
	longest longestWait          // since demandStamps
}

// longestWait is the longest time that a change has waited for its stamp.
type longestWait struct {
	key        string
	slot       int
	since, end time.Time
}

func (w longestWait) duration() time.Duration { return w.end.Sub(w.since) }

// ownership is a state of a slot's Lease.
type ownership struct {
	version     int64
	transition  int
	incarnation string // empty if the slot is free
	at          time.Time
}

// stamp is a stamp of an object.
type stamp struct {
	version     int64
	change      string
	slot        int
	transition  int
	incarnation string
}

// startStampChecker starts a checker of a collection's stamps. The Leases of the replicas are in
// one of the collection's namespaces.
func startStampChecker(t *testing.T, c *configMapCollection) *stampChecker {
	t.Helper()
	s := &stampChecker{
		slots: map[int][]ownership{}, stamps: map[types.UID][]stamp{}, waiting: map[string]time.Time{}, namespaces: c.author.namespaces,
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, resource := range []string{"configmaps/", "leases/"} {
		running.Go(func() {
			if err := c.cluster.Watch(ctx, resource, 0, s.see); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() { cancel(); running.Wait() })
	return s
}

func (s *stampChecker) see(write cluster.Write) {
	key := strings.Split(write.Key, "/")
	if len(key) != 3 || !slices.Contains(s.namespaces, key[1]) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	switch {
	case write.Object == nil:
		delete(s.waiting, write.Key)
	case key[0] == "leases" && isSlotLease(key[2]):
		err = s.seeLease(write)
	case key[0] == "configmaps":
		err = s.seeConfigMap(write)
	}
	if err != nil {
		s.err = errors.Join(s.err, fmt.Errorf("%s: %w", write.Key, err))
	}
}

func (s *stampChecker) seeConfigMap(write cluster.Write) error {
	var configMap corev1.ConfigMap
	if err := configMap.Unmarshal(write.Object); err != nil {
		return err
	}
	got := stamp{version: write.Revision}
	if mark := configMap.Annotations[stampKey]; mark != "" {
		if _, err := fmt.Sscan(mark, &got.change, &got.slot, &got.transition, &got.incarnation); err != nil {
			return fmt.Errorf("stamp %q: %w", mark, err)
		}
		stamps := s.stamps[configMap.UID]
		if len(stamps) == 0 || !got.repeats(stamps[len(stamps)-1]) {
			s.stamps[configMap.UID] = append(stamps, got)
		}
	}
	s.seeChange(write.Key, configMap.Data["change"], got)
	return nil
}

// seeChange measures how long changes wait for their stamps: from the first that has none.
func (s *stampChecker) seeChange(key, change string, last stamp) {
	first, ok := s.waiting[key]
	if last.change != change {
		if !ok {
			s.waiting[key] = time.Now()
		}
		return
	}
	if wait := (longestWait{key, last.slot, first, time.Now()}); ok && wait.duration() > s.longest.duration() {
		s.longest = wait
	}
	delete(s.waiting, key)
}

// repeats reports whether a stamp is the one that an object had before.
func (s stamp) repeats(before stamp) bool {
	s.version = before.version
	return s == before
}

func (s *stampChecker) seeLease(write cluster.Write) error {
	var lease coordinationv1.Lease
	if err := lease.Unmarshal(write.Object); err != nil {
		return err
	}
	slot, err := strconv.Atoi(strings.TrimPrefix(lease.Name, shardGroup+"-slot-"))
	s.slots[slot] = append(s.slots[slot], ownership{
		write.Revision, int(ptr.Deref(lease.Spec.LeaseTransitions, 0)), ptr.Deref(lease.Spec.HolderIdentity, ""), time.Now(),
	})
	return err
}

// unstamped returns an error while fewer objects have a stamp, or changes have none.
func (s *stampChecker) unstamped(objects int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.stamps) < objects {
		return fmt.Errorf("%w: %d of %d objects have a stamp", errNotAtRest, len(s.stamps), objects)
	}
	if len(s.waiting) > 0 {
		return fmt.Errorf("%w: %d objects have changes without a stamp: %v", errNotAtRest, len(s.waiting), slices.Sorted(maps.Keys(s.waiting))[0])
	}
	return s.err
}

// waitingSince returns an error while changes that were made before then have no stamp.
func (s *stampChecker) waitingSince(then time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, first := range s.waiting {
		if first.Before(then) {
			return fmt.Errorf("%w: %s has waited for a stamp since %s", errNotAtRest, key, first.Format(time.TimeOnly))
		}
	}
	return s.err
}

// awaitAll blocks until all objects have a stamp. It fails the test once no object has received one
// for waitTimeout: how fast the replicas stamp is not tested.
func (s *stampChecker) awaitAll(t *testing.T, objects int) {
	t.Helper()
	for {
		before := s.stamped()
		err := poll(t.Context(), func(context.Context) error { return s.unstamped(objects) })
		if err == nil {
			return
		}
		if s.stamped() == before {
			t.Fatalf("all ConfigMaps are stamped: %v", err)
		}
	}
}

// stamped returns the number of objects that have a stamp.
func (s *stampChecker) stamped() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.stamps)
}

// demandStamps starts the measurement of how long changes wait for their stamps.
func (s *stampChecker) demandStamps() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.longest = longestWait{}
}

// check compares the stamps with the history of the slots' Leases.
func (s *stampChecker) check(t *testing.T, deadline time.Duration) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		t.Error(s.err)
	}
	for slot, history := range s.slots {
		checkOwners(t, slot, history)
	}
	stamps, late, transitions := 0, 0, 0
	for uid, history := range s.stamps {
		stamps += len(history)
		late += s.checkStamps(t, uid, history)
	}
	for _, history := range s.slots {
		transitions += history[len(history)-1].transition
	}
	t.Logf("%d stamps of %d objects, %d transitions of %d slots; %d late first stamps; a change has waited %s at most",
		stamps, len(s.stamps), transitions, len(s.slots), late, s.longest.duration().Round(100*time.Millisecond))
	t.Logf("the longest wait: %+v; owners of the slot: %+v", s.longest, s.slots[s.longest.slot])
	if s.longest.duration() > deadline {
		t.Errorf("a change has waited for its stamp longer than %s: %+v; owners of the slot: %+v", deadline, s.longest, s.slots[s.longest.slot])
	}
}

// checkOwners checks that a slot's transition grows with each owner, and only then.
func checkOwners(t *testing.T, slot int, history []ownership) {
	t.Helper()
	var last ownership
	for _, now := range history {
		released := now.incarnation == "" && now.transition == last.transition
		if taken := now.transition == last.transition+1 && now.incarnation != ""; !released && !taken {
			t.Errorf("slot %d: %+v follows %+v", slot, now, last)
		}
		last = now
	}
}

// checkStamps checks that an object's stamps are of owners of its slot, and that their transitions
// never fall. It returns how many were the first of their owner for the object although the slot
// had a newer owner.
func (s *stampChecker) checkStamps(t *testing.T, uid types.UID, history []stamp) (late int) {
	t.Helper()
	var last stamp
	for _, now := range history {
		transition, incarnation := s.ownerAt(now)
		switch {
		case now.transition < last.transition:
			t.Errorf("object %s: %+v follows %+v", uid, now, last)
		case incarnation != now.incarnation:
			t.Errorf("object %s: %+v, but the owner with this transition is %q", uid, now, incarnation)
		case now.transition < transition:
			late++
		}
		last = now
	}
	return late
}

// ownerAt returns the transition of a stamp's slot when it was written, and the owner with the
// stamp's transition.
func (s *stampChecker) ownerAt(at stamp) (transition int, incarnation string) {
	for _, now := range s.slots[at.slot] {
		if now.version < at.version {
			transition = now.transition
		}
		if now.transition == at.transition && now.incarnation != "" {
			incarnation = now.incarnation
		}
	}
	return transition, incarnation
}
