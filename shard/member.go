// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/errlog"
	"github.com/kinformer/kinformer/internal/scope"
)

var (
	// ErrGroupMismatch is wrapped by the error of Run if the group was created with another number
	// of slots, another hash field or by another version of the algorithm, or is one of another
	// program.
	ErrGroupMismatch = errors.New("the group has other options")

	errRunTwice = errors.New("shard: Run was called before")
	errTermOver = errors.New("its Lease was not renewed in time")
	errExpired  = errors.New("its Lease has expired")
	errStopped  = errors.New("the member has stopped")
	errGivenUp  = errors.New("it is above its fair share")
	errTaken    = errors.New("another member has taken it")
	errDeleted  = errors.New("the Lease was deleted by hand")

	errUnassigned = errors.New("no assignment yet")
)

// Member is a replica in a group that divides collections. Its methods are safe for concurrent use.
type Member struct {
	leases  LeaseClient
	options Options
	clock   processClock
	view    *view
	scopes  *cache.Scopes
	created time.Time
	errors  errlog.Requests // of requests, with the times of the monotonic clock
	warned  bool            // noteCrowded has logged; belongs to balance

	mu       sync.Mutex
	started  bool
	informer *cache.SharedInformer[*coordinationv1.Lease] // of the group's Leases, nil before Run
	owned    map[int]*Slot
	changed  chan struct{} // closed when owned changes
	status   Status
	renewed  instant // the last successful renewal or, if there is none, the start of Run
	failure  error   // of the last failed request, also if others have succeeded since

	assigned     chan struct{} // closed once the member has an assignment, perhaps of no slots
	assignedOnce sync.Once
}

// New returns a member of a group, which owns no slots until it runs. It returns an error that
// names each invalid field of the options.
func New(leases LeaseClient, options Options) (*Member, error) {
	return newMember(leases, options, newSystemClock())
}

func newMember(leases LeaseClient, options Options, clock processClock) (*Member, error) {
	options = options.withDefaults()
	if err := options.check(); err != nil {
		return nil, err
	}
	m := &Member{
		leases: leases, options: options, clock: clock, view: newView(options, clock), created: clock.now().wall,
		scopes: cache.NewScopes(), owned: make(map[int]*Slot), changed: make(chan struct{}),
		assigned: make(chan struct{}), status: newStatus(options),
	}
	set := scope.SetOf(m.scopes)
	set.CompleteAfter(m.assigned, m.unassigned)
	set.SetOwner(m)
	return m, nil
}

// unassigned returns why informers over the member's scopes have not synced, and since when, before
// the member's first assignment.
func (m *Member) unassigned() (since time.Time, err error) {
	m.mu.Lock()
	failure, informer := m.failure, m.informer
	m.mu.Unlock()
	if failure == nil && informer != nil {
		failure = informer.Status().Err
	}
	if failure == nil {
		return m.created, fmt.Errorf("group %q: %w", m.options.Group, errUnassigned)
	}
	return m.created, fmt.Errorf("group %q: %w: %w", m.options.Group, errUnassigned, failure)
}

// noteAssigned ends the wait of informers for the first assignment.
func (m *Member) noteAssigned() { m.assignedOnce.Do(func() { close(m.assigned) }) }

// Run makes the replica a member of its group until ctx ends. It then waits up to a RetryPeriod for
// a request that is under way, ends the contexts of its slots, releases the slots, which takes at
// most RenewDeadline, and returns nil. Errors of requests are logged, and the requests repeated;
// see Status. Run returns an error that wraps ErrGroupMismatch if the group has other options. It
// must be called once.
func (m *Member) Run(ctx context.Context) error {
	if err := m.start(); err != nil {
		return err
	}
	defer m.end()
	ctx = klog.NewContext(ctx, klog.LoggerWithValues(klog.FromContext(ctx), "group", m.options.Group, "member", m.options.Identity))
	if err := m.checkGroup(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	informer, handler, err := m.newLeaseInformer()
	if err != nil {
		return err
	}
	stopped := make(chan error, 1)
	go func() { stopped <- informer.Run(running) }()
	select {
	case <-handler.Synced():
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		m.runIncarnation(ctx)
	}
	stop()
	return <-stopped
}

func (m *Member) start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started {
		return errRunTwice
	}
	m.started, m.status.Running, m.renewed = true, true, m.clock.now()
	return nil
}

// end makes the status that of a member that no longer runs.
func (m *Member) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status.Running, m.status.StaleSince = false, time.Time{}
}

func (m *Member) newLeaseInformer() (*cache.SharedInformer[*coordinationv1.Lease], *cache.Registration, error) {
	lw := cache.ListWatchOf(m.leases, cache.WithLabelSelector(m.options.selector()))
	informer := cache.NewSharedInformer(lw, &coordinationv1.Lease{}, cache.InformerOptions[*coordinationv1.Lease]{
		Name: "Leases of group " + m.options.Group,
	})
	m.mu.Lock()
	m.informer = informer
	m.mu.Unlock()
	handler, err := informer.AddEventHandler(m.view.handler(), cache.HandlerOptions{})
	return informer, handler, err
}

// checkGroup compares the group record with the options, and creates it if there is none. It
// returns nil if ctx ends.
func (m *Member) checkGroup(ctx context.Context) error {
	for {
		lease, err := m.groupRecord(ctx)
		if err == nil {
			err = m.options.checkGroup(lease)
			m.fail(err)
			return err
		}
		if !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) { // another replica came first
			m.report(ctx, "read or write the group's Lease", err)
		}
		if !m.sleep(ctx, m.options.RetryPeriod) {
			return nil
		}
	}
}

// groupRecord reads the group record, or creates it. If the record has no program, groupRecord adds
// that of this replica.
func (m *Member) groupRecord(ctx context.Context) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, m.options.RenewDeadline)
	defer cancel()
	lease, err := m.leases.Get(ctx, m.options.Group, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return m.leases.Create(ctx, m.options.groupLease(), metav1.CreateOptions{})
	}
	if err != nil || m.options.checkGroup(lease) != nil || m.options.Program == "" || lease.Annotations[programAnnotation] != "" {
		return lease, err
	}
	return m.leases.Update(ctx, m.options.withProgram(lease), metav1.UpdateOptions{})
}

// sleep returns after d, or false as soon as ctx ends.
func (m *Member) sleep(ctx context.Context, d time.Duration) bool {
	expired, stop := m.clock.after(d)
	defer stop()
	select {
	case <-expired:
		return true
	case <-ctx.Done():
		return false
	}
}

// Slots returns the slots that the member owns, by number.
func (m *Member) Slots() []*Slot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.slots()
}

// slots is Slots for a caller that holds mu.
func (m *Member) slots() []*Slot {
	var slots []*Slot
	for _, slot := range m.owned {
		if slot.err() == nil {
			slots = append(slots, slot)
		}
	}
	slices.SortFunc(slots, func(a, b *Slot) int { return a.Number - b.Number })
	return slots
}

// Ranges returns the ranges of hashes that the member owns, in ascending order. Those of adjacent
// slots are one range.
func (m *Member) Ranges() []cache.HashRange {
	var ranges []cache.HashRange
	for _, slot := range m.Slots() {
		if last := len(ranges) - 1; last >= 0 && ranges[last].Last+1 == slot.Hash.First {
			ranges[last].Last = slot.Hash.Last
		} else {
			ranges = append(ranges, slot.Hash)
		}
	}
	return ranges
}

// Slot returns the slot of an object, false if the member does not own it. obj needs a UID, or a
// namespace if that is the group's HashField.
func (m *Member) Slot(obj metav1.Object) (*Slot, bool) {
	value := string(obj.GetUID())
	if m.options.HashField == cache.HashNamespace {
		value = obj.GetNamespace()
	}
	slot := m.ownedSlot(slotOf(scope.HashOf(value), m.options.Slots))
	return slot, slot != nil
}

// Owns reports whether the member owns the slot of an object now. A write needs the slot's context,
// since the member may lose the slot at any time: see Slot.
func (m *Member) Owns(obj metav1.Object) bool {
	_, ok := m.Slot(obj)
	return ok
}

// Scopes returns a set with the hash range of each slot that the member owns, for
// cache.InformerOptions.Scopes and clientgo.Options.Scopes. The member changes the set while it
// runs; the caller must not.
//
// An informer over the set does not sync before the member's first assignment: the member has taken
// a slot, or has none to take because other members own all. Until then, Status and HealthCheck,
// and the errors of WaitForSync, say "no assignment yet", with the member's last error.
func (m *Member) Scopes() *cache.Scopes { return m.scopes }

// Changes returns an iterator. It yields the member's slots immediately, and again after each
// change, until ctx ends. If several changes happen while the caller handles a value, it yields the
// state after the last one.
func (m *Member) Changes(ctx context.Context) iter.Seq[[]*Slot] {
	return func(yield func([]*Slot) bool) {
		for {
			m.mu.Lock()
			slots, changed := m.slots(), m.changed
			m.mu.Unlock()
			if ctx.Err() != nil || !yield(slots) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}
}

// ownedSlot returns a slot that the member owns, nil if it does not.
func (m *Member) ownedSlot(number int) *Slot {
	m.mu.Lock()
	slot := m.owned[number]
	m.mu.Unlock()
	if slot == nil || slot.err() != nil {
		return nil
	}
	return slot
}

// publish passes the owned slots on, after a change.
func (m *Member) publish(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, owned := sets.New(m.scopes.All()...), sets.New[cache.Scope]()
	for _, slot := range m.slots() {
		owned.Insert(cache.Scope{Hash: slot.Hash})
	}
	lost, gained := before.Difference(owned).UnsortedList(), owned.Difference(before).UnsortedList()
	if err := errors.Join(m.scopes.Remove(lost...), m.scopes.Add(gained...)); err != nil {
		klog.FromContext(ctx).Error(err, "Scopes were changed by the program", "scopes", m.scopes.All())
	}
	close(m.changed)
	m.changed = make(chan struct{})
}
