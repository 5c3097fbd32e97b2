// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// Status is what a Member knows of its group.
type Status struct {
	// Group and Identity are those of Options.
	Group, Identity string
	// Running reports whether Run is in progress. Otherwise Incarnation, Members, Peers, Owned,
	// Free, SlotObjects, RenewalAge and StaleSince are zero.
	Running bool
	// Incarnation is the identity with a random suffix, different for each time that the replica
	// has joined the group. It is empty while the replica is not a member.
	Incarnation string
	// Slots is the number of slots of the group, and Owned the number of those that this member
	// owns.
	Slots, Owned int
	// Members is the number of members whose Leases have not expired, and Free the number of slots
	// without an owner among them, as this member last saw them. Peers are these members, by
	// identity, with this one. All are zero until it has joined the group. Once it could not reach
	// the API server for LeaseDuration, it sees no members.
	Members, Free int
	Peers         []Peer
	// SlotObjects is the number of objects that the informers over the member's Scopes hold of each
	// of its slots, by number, without the slots that one of them has not listed. It is nil while
	// none of them runs. An object that two informers hold counts twice.
	SlotObjects map[int]int
	// Taken counts the slots that the member has taken, by the reason. It has a key for every
	// reason, and so has Lost:
	//   - New: the slot had no owner before.
	//   - Released: its owner had stopped.
	//   - Balanced: its owner had more than its fair share.
	//   - Expired: its owner had not renewed its Lease.
	//   - LeaseDeleted: the Lease of the slot or of its owner was deleted by hand.
	//   - Regained: the slot's Lease named this incarnation already, which had not renewed in time,
	//     or had not received the response to its write.
	Taken map[string]uint64
	// Lost counts the slots that the member has lost, by the reason:
	//   - NotRenewed: no renewal of the member's Lease has succeeded within RenewDeadline.
	//   - Expired: another member has expired its Lease.
	//   - Stopped: the context of Run has ended.
	//   - Balanced: the member had more than its fair share.
	//   - Taken: another member has taken the slot.
	//   - LeaseDeleted: the Lease of the slot or of the member was deleted by hand.
	Lost map[string]uint64
	// Renewed is when the last successful renewal of the member's Lease was sent. RenewalAge is the
	// time since then or, before the first one, since Run began. When RenewalAge reaches
	// RenewDeadline, that of Options, the contexts of all slots end.
	Renewed                   time.Time
	RenewalAge, RenewDeadline time.Duration
	// StaleSince is zero while the watch of the group's Leases shows each renewal of the member
	// within two fifths of LeaseDuration. Otherwise it is when the member sent the first renewal
	// that the watch has not shown.
	StaleSince time.Time
	// Err is the error of the last request that has failed, other than because another write of the
	// Lease came first, since the last successful renewal. If there is none, it is the error of the
	// informer of Leases, or nil. Once Run has returned because the group has other options, it is
	// that error.
	Err error
}

// Peer is a member of a group, as another member or itself sees it.
type Peer struct {
	// Identity and Program are those of its Options. Program is empty if it has none, or if it is
	// of an earlier version.
	Identity, Program string
	// Slots is the number of slots that it owns.
	Slots int
	// Objects is the number of objects that its informers held of its slots at its last renewal, or
	// -1 if it is not known: no informer over its Scopes runs, or one has not listed all slots, or
	// the member is of an earlier version. An object that two informers hold counts twice.
	Objects int
}

// takeReason is why a slot is free, or was taken.
type takeReason string

// The keys of Status.Taken.
const (
	takeNew      takeReason = "New"
	takeReleased takeReason = "Released"
	takeBalanced takeReason = "Balanced"
	takeExpired  takeReason = "Expired"
	takeDeleted  takeReason = "LeaseDeleted"
	takeRegained takeReason = "Regained"
)

// lossReasons has the keys of Status.Lost.
var lossReasons = map[error]string{ //nolint:gochecknoglobals // a constant
	errTermOver: "NotRenewed", errExpired: "Expired", errStopped: "Stopped", errGivenUp: "Balanced", errTaken: "Taken", errDeleted: "LeaseDeleted",
}

// newStatus returns the status of a member that has not run.
func newStatus(options Options) Status {
	s := Status{
		Group: options.Group, Identity: options.Identity, Slots: options.Slots, RenewDeadline: options.RenewDeadline,
		Taken: make(map[string]uint64), Lost: make(map[string]uint64),
	}
	for _, reason := range []takeReason{takeNew, takeReleased, takeBalanced, takeExpired, takeDeleted, takeRegained} {
		s.Taken[string(reason)] = 0
	}
	for _, reason := range lossReasons {
		s.Lost[reason] = 0
	}
	return s
}

// Status returns the member's status.
func (m *Member) Status() Status {
	m.mu.Lock()
	status, renewed, informer := m.status, m.renewed, m.informer
	status.Taken, status.Lost = maps.Clone(status.Taken), maps.Clone(status.Lost)
	status.Owned = len(m.slots())
	m.mu.Unlock()
	if !status.Running {
		status.Owned = 0
		return status
	}
	status.RenewalAge = m.clock.now().elapsed(renewed)
	if !status.Renewed.IsZero() { // the Leases have been listed
		status.Peers, status.Free = m.view.summary()
		status.Members = len(status.Peers)
		status.SlotObjects = m.slotObjects()
	}
	if status.Err == nil && informer != nil {
		status.Err = informer.Status().Err
	}
	return status
}

// setIncarnation records that the replica is a member, or not, if name is empty.
func (m *Member) setIncarnation(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status.Incarnation = name
}

// setRenewed records a successful renewal, which was sent at a time.
func (m *Member) setRenewed(sent instant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.renewed, m.status.Renewed, m.status.Err = sent, sent.wall, nil
}

// MembersOf returns the members whose Scopes the informers use, each once, in no particular order.
func MembersOf(views []cache.View) (members []*Member) {
	seen := make(map[*Member]bool)
	for _, view := range views {
		if m, ok := scope.SetOf(view).Owner().(*Member); ok && !seen[m] {
			seen[m] = true
			members = append(members, m)
		}
	}
	return members
}

// fail records an error, if it is not nil.
func (m *Member) fail(err error) {
	if err == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status.Err, m.failure = err, err
}

var errStuck = errors.New("the watch does not show the renewals of this member")

// noteStale records for how long the watch of Leases has not shown what it should, and logs it if
// that is new.
func (m *Member) noteStale(ctx context.Context, age time.Duration) {
	var since time.Time
	if age > 0 {
		since = m.clock.now().wall.Add(-age)
	}
	m.mu.Lock()
	was := m.status.StaleSince
	if was.IsZero() || since.IsZero() {
		m.status.StaleSince = since
	}
	m.mu.Unlock()
	switch {
	case was.IsZero() && age > 0 && m.isNew(errStuck):
		klog.FromContext(ctx).Error(errStuck, "Watch of Leases is stuck, listing them instead")
	case !was.IsZero() && age == 0:
		klog.FromContext(ctx).V(2).Info("Watch of Leases is current again")
	}
}

// report records an error in the status, and logs it unless it was logged lately.
func (m *Member) report(ctx context.Context, action string, err error) {
	if ctx.Err() != nil {
		return
	}
	err = feed.CauseFirst(err)
	failed := fmt.Errorf("%s: %w", action, err)
	m.fail(failed)
	if m.isNew(failed) {
		klog.FromContext(ctx).Error(err, "Sharding request failed, will be repeated", "action", action)
	}
}

// isNew reports whether an error was not logged lately. Errors of several slots, which differ in
// digits, count as one.
func (m *Member) isNew(err error) bool {
	now := time.Time{}.Add(m.clock.now().monotonic)
	return m.errors.IsNew(err.Error(), now)
}

// slotNumbers returns the numbers of slots in ascending order, such as "0-7,12".
func slotNumbers(numbers []int) string {
	var text strings.Builder
	numbers = slices.Sorted(slices.Values(numbers))
	for i := 0; i < len(numbers); i++ {
		first := numbers[i]
		for i+1 < len(numbers) && numbers[i+1] == numbers[i]+1 {
			i++
		}
		if text.Len() > 0 {
			text.WriteByte(',')
		}
		text.WriteString(strconv.Itoa(first))
		if last := numbers[i]; last > first {
			text.WriteString("-" + strconv.Itoa(last))
		}
	}
	return text.String()
}

// notePrograms logs the programs of the members if there are others than before.
func (i *incarnation) notePrograms(ctx context.Context, peers []Peer) {
	programs := programsOf(peers)
	if !slices.Equal(programs, i.programs) && !slices.Equal(programs, []string{""}) {
		klog.FromContext(ctx).Info("Programs of the group's members", "programs", programsText(peers))
	}
	i.programs = programs
}

// slotObjects returns Status.SlotObjects.
func (m *Member) slotObjects() map[int]int {
	objects := scope.SetOf(m.scopes).Objects()
	if objects == nil {
		return nil
	}
	bySlot := make(map[int]int, len(objects))
	for s, n := range objects {
		bySlot[slotOf(s.Hash.First, m.options.Slots)] = n
	}
	return bySlot
}

// objects returns the number of objects of the member's slots, false if informers have not listed
// all slots, or none runs.
func (m *Member) objects() (all int, known bool) {
	bySlot := m.slotObjects()
	for _, n := range bySlot {
		all += n
	}
	return all, bySlot != nil && len(bySlot) == len(m.scopes.All())
}

// crowdedObjects is the least number of objects of a group of which one member can have too many:
// fewer are often in few slots by chance.
const crowdedObjects = 10

// crowded returns the member that has more than 80 % of the objects of three members or more, and
// the number of all objects. It returns false if there is none, or if that may change by itself: a
// member does not have its share of the slots, or has not listed its objects.
func crowded(peers []Peer, slots int) (most Peer, all int, ok bool) {
	for rank, peer := range peers {
		if peer.Objects < 0 || peer.Slots != shareOf(rank, len(peers), slots) {
			return Peer{}, 0, false
		}
		all += peer.Objects
		if peer.Objects > most.Objects {
			most = peer
		}
	}
	return most, all, len(peers) >= 3 && all >= crowdedObjects && 100*most.Objects > 80*all
}

// noteCrowded logs, once in the life of the member, that it has had most of the group's objects for
// LeaseDuration.
func (i *incarnation) noteCrowded(ctx context.Context, peers []Peer) {
	now := i.clock.now().monotonic
	most, all, ok := crowded(peers, i.options.Slots)
	if !ok || most.Identity != i.options.Identity {
		i.crowded = 0
		return
	}
	i.crowded = cmp.Or(i.crowded, now)
	if i.warned || now-i.crowded < i.options.LeaseDuration {
		return
	}
	i.warned = true
	slot, objects := -1, -1
	for number, n := range i.slotObjects() {
		if n > objects {
			slot, objects = number, n
		}
	}
	klog.FromContext(ctx).Info("Warning: this member has more than 80 % of the objects of its group", "objects", most.Objects, "all", all,
		"members", len(peers), "hashField", i.options.HashField, "slot", slot, "slotObjects", objects)
}

// programsOf returns the programs of members, each once, in order.
func programsOf(peers []Peer) []string {
	programs := sets.New[string]()
	for _, peer := range peers {
		programs.Insert(peer.Program)
	}
	return sets.List(programs)
}

// programsText names the members of each program, such as "none: c; web: a, b", up to ten of each.
func programsText(peers []Peer) string {
	const limit = 10
	var texts []string
	for _, program := range programsOf(peers) {
		var members []string
		for _, peer := range peers {
			if peer.Program == program {
				members = append(members, peer.Identity)
			}
		}
		text := cmp.Or(program, "none") + ": " + strings.Join(members[:min(len(members), limit)], ", ")
		if more := len(members) - limit; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}
