// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package shard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// simulatedServer is a server that checks the invariants whenever a Lease has changed.
type simulatedServer struct {
	*leaseServer

	options Options

	mu        sync.Mutex // held while a Lease is written and the invariants are checked
	processes []*process
	owners    map[ownership]string // the incarnation of each slot and transition
	last      map[int]int32        // transition of each slot
	objects   []object
	writes    []string // since they were last cleared
	violation string
	down      int
	late      int // stamps that came after one of a newer owner of the slot, on another object
	stamps    int
}

// ownership is one of the times for which a slot has an owner.
type ownership struct {
	slot       int
	transition int32
}

func newSimulatedServer(options Options) *simulatedServer {
	return &simulatedServer{
		leaseServer: newLeaseServer(), options: options, owners: make(map[ownership]string), last: make(map[int]int32),
		objects: make([]object, simulatedObjects),
	}
}

// failf records the first violation of an invariant. The caller holds mu.
func (s *simulatedServer) failf(format string, args ...any) {
	if s.violation == "" {
		s.violation = fmt.Sprintf(format, args...)
	}
}

// isDown reports whether the server refuses all requests.
func (s *simulatedServer) isDown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down > 0
}

// Create implements LeaseClient, as Update and Delete do.
func (s *simulatedServer) Create(ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, err := s.leaseServer.Create(ctx, lease, options)
	s.wrote("create", lease, err)
	return stored, err
}

func (s *simulatedServer) Update(ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, err := s.leaseServer.Update(ctx, lease, options)
	s.wrote("update", lease, err)
	return stored, err
}

func (s *simulatedServer) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.leaseServer.Delete(ctx, name, options)
	s.wrote("delete", &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}, err)
	return err
}

// wrote checks the invariants after a write. The caller holds mu.
func (s *simulatedServer) wrote(verb string, lease *coordinationv1.Lease, err error) {
	if err != nil {
		return
	}
	s.writes = append(s.writes, verb+" "+lease.Name)
	if slot, ok := s.options.slotNumber(lease.Name); ok {
		s.wroteSlot(verb, slot, lease)
	}
	s.check()
}

// wroteSlot checks that the transition of a slot never falls, and grows with each owner.
func (s *simulatedServer) wroteSlot(verb string, slot int, lease *coordinationv1.Lease) {
	owner, last := ownerOf(lease), s.last[slot]
	switch {
	case verb == "delete":
		s.failf("the Lease of slot %d was deleted", slot)
	case owner.transition < last || owner.incarnation != "" && owner.transition == last:
		s.failf("slot %d: transition %d of %s follows %d", slot, owner.transition, owner.incarnation, last)
	case owner.incarnation != "":
		s.belongs(slot, owner.transition, owner.incarnation)
	}
	s.last[slot] = owner.transition
}

// belongs checks that a slot and transition always belong to the same incarnation.
func (s *simulatedServer) belongs(slot int, transition int32, incarnation string) {
	key := ownership{slot, transition}
	if other := s.owners[key]; other != "" && other != incarnation {
		s.failf("slot %d, transition %d belongs to %s and %s", slot, transition, other, incarnation)
	}
	s.owners[key] = incarnation
}

// check checks that the Leases name the owner of each slot that a process owns. So no two do. The
// caller holds mu, so that no Lease changes meanwhile.
func (s *simulatedServer) check() {
	for _, p := range s.processes {
		incarnation, slots := p.owned()
		for number, transition := range slots {
			s.checkOwner(p, ownership{number, transition}, incarnation)
		}
	}
}

func (s *simulatedServer) checkOwner(p *process, o ownership, incarnation string) {
	s.belongs(o.slot, o.transition, incarnation)
	if got := s.ownerNow(o.slot); got.incarnation != incarnation || got.transition != o.transition {
		s.failf("%s owns slot %d, transition %d, as %s; its Lease names %+v", p.name, o.slot, o.transition, incarnation, got)
	}
	if lease, err := s.get(p.member.options.memberLeaseName()); err != nil || holderOf(lease) != incarnation {
		s.failf("%s owns slot %d as %s, which does not hold its member Lease", p.name, o.slot, incarnation)
	}
}

func (s *simulatedServer) ownerNow(slot int) owner {
	lease, err := s.get(s.options.slotLeaseName(slot))
	if err != nil {
		return owner{}
	}
	return ownerOf(lease)
}

// checkNow checks the invariants between two steps.
func (s *simulatedServer) checkNow() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check()
	for _, p := range s.processes {
		s.checkScopes(p)
	}
	return s.violation
}

// checkScopes checks that the scopes of a process are its slots. They may differ for a RetryPeriod,
// after which a process notices that its wall clock was set, and while it waits for a response.
func (s *simulatedServer) checkScopes(p *process) {
	if !p.gate.isOpen() || !p.network.isIdle() || p.isDead() || slices.Equal(p.scopes(), p.ranges()) {
		p.differs = time.Time{}
		return
	}
	if p.differs.IsZero() {
		p.differs = time.Now()
	}
	if since := time.Since(p.differs); since > 2*s.options.RetryPeriod {
		s.failf("%s has scopes %v and slots %v since %v", p.name, p.scopes(), p.ranges(), since)
	}
}

// add adds a process.
func (s *simulatedServer) add(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes = append(s.processes, p)
}

// running returns the processes that are members or become such.
func (s *simulatedServer) running() []*process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.processes), func(p *process) bool { return p.isStopping() })
}

// takeWrites returns the number of writes to each Lease since the last call.
func (s *simulatedServer) takeWrites() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	writes := make(map[string]int)
	for _, write := range s.writes {
		writes[write]++
	}
	s.writes = nil
	return writes
}

// state describes all Leases.
func (s *simulatedServer) state() (lines []string) {
	list, err := s.List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	for _, lease := range list.Items {
		lines = append(lines, fmt.Sprintf("  %s: holder %q, transition %d, %v", lease.Name, holderOf(&lease),
			ptr.Deref(lease.Spec.LeaseTransitions, 0), slices.Sorted(maps.Values(lease.Annotations))))
	}
	return lines
}
