// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// LeaseClient reads and writes the Leases of one namespace.
// clientset.CoordinationV1().Leases(namespace) is one. It should have a limit of its own on
// requests per second: see the package documentation.
type LeaseClient interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error)
	List(ctx context.Context, options metav1.ListOptions) (*coordinationv1.LeaseList, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
	Create(ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error)
	Update(ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// A group has three kinds of Leases, all with the label groupLabel:
//
//   - the group record, with the options that all replicas must agree on as annotations. The
//     program is absent until a replica that has one has read the record;
//   - one for each member. Its holder is the member's incarnation, and none once that has expired;
//   - one for each slot. Its holder is the incarnation that owns the slot, of the member whose
//     Lease it names, and its leaseTransitions count the owners. It is written only on a change of
//     owner.
const (
	groupLabel = "kinformer/shard-group"

	slotsAnnotation   = "kinformer/shard-slots"
	fieldAnnotation   = "kinformer/shard-field"
	versionAnnotation = "kinformer/shard-algorithm"
	programAnnotation = "kinformer/shard-program" // of members' Leases, too

	// objectsAnnotation of a member's Lease is the number of objects of its slots at its last
	// renewal. It is absent if that is not known.
	objectsAnnotation = "kinformer/shard-objects"

	memberAnnotation    = "kinformer/shard-member"
	memberUIDAnnotation = "kinformer/shard-member-uid"
	// The leaseTransitions of the member's Lease show which of two states of both Leases is newer.
	memberTransitionAnnotation = "kinformer/shard-member-transition"
	// expiredAnnotation of a member's Lease is its last holder that has not given it up, but
	// expired.
	expiredAnnotation = "kinformer/shard-expired"

	memberInfix = "-member-"
	slotInfix   = "-slot-"
)

func (o Options) groupLease() *coordinationv1.Lease {
	return o.withProgram(o.newLease(o.Group, map[string]string{
		slotsAnnotation:   strconv.Itoa(o.Slots),
		fieldAnnotation:   string(o.HashField),
		versionAnnotation: algorithmVersion,
	}))
}

// withProgram returns a copy of a Lease, with the program of o.
func (o Options) withProgram(lease *coordinationv1.Lease) *coordinationv1.Lease {
	lease = lease.DeepCopy()
	delete(lease.Annotations, programAnnotation)
	if o.Program != "" {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, programAnnotation, o.Program)
	}
	return lease
}

// selector selects the Leases of the group.
func (o Options) selector() labels.Selector {
	return labels.SelectorFromSet(labels.Set{groupLabel: o.Group})
}

// checkGroup returns an error if the group record has other options than o. A record without a
// program has none other.
func (o Options) checkGroup(lease *coordinationv1.Lease) error {
	for key, want := range o.groupLease().Annotations {
		if key == programAnnotation && lease.Annotations[key] == "" {
			continue
		}
		if got := lease.Annotations[key]; got != want {
			return fmt.Errorf("%w: Lease %q has annotation %s=%q, this replica %q", ErrGroupMismatch, lease.Name, key, got, want)
		}
	}
	return nil
}

func (o Options) memberLeaseName() string { return o.Group + memberInfix + o.Identity }

// memberLease returns a Lease that an incarnation holds from now on.
func (o Options) memberLease(incarnation string, now time.Time) *coordinationv1.Lease {
	lease := o.withProgram(o.newLease(o.memberLeaseName(), nil))
	hold(lease, incarnation, o.LeaseDuration, now)
	return lease
}

// hold makes an incarnation the holder of a member Lease.
func hold(lease *coordinationv1.Lease, incarnation string, duration time.Duration, now time.Time) {
	lease.Spec.HolderIdentity = &incarnation
	lease.Spec.LeaseDurationSeconds = new(int32(duration / time.Second))
	lease.Spec.AcquireTime = new(metav1.NewMicroTime(now))
	lease.Spec.RenewTime = new(metav1.NewMicroTime(now))
	lease.Spec.LeaseTransitions = new(transitionOf(lease) + 1)
}

// durationOf returns the time after which an unchanged member Lease has expired.
func (o Options) durationOf(lease *coordinationv1.Lease) time.Duration {
	return max(o.LeaseDuration, time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0))*time.Second)
}

func holderOf(lease *coordinationv1.Lease) string { return ptr.Deref(lease.Spec.HolderIdentity, "") }

func transitionOf(lease *coordinationv1.Lease) int32 {
	return ptr.Deref(lease.Spec.LeaseTransitions, 0)
}

func (o Options) slotLeaseName(slot int) string {
	width := len(strconv.Itoa(o.Slots - 1))
	return fmt.Sprintf("%s%s%0*d", o.Group, slotInfix, width, slot)
}

// slotNumber returns the slot of a Lease, false if it is not that of a slot.
func (o Options) slotNumber(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, o.Group+slotInfix)
	if !ok {
		return 0, false
	}
	slot, err := strconv.Atoi(digits)
	if err != nil || slot < 0 || slot >= o.Slots || o.slotLeaseName(slot) != name {
		return 0, false
	}
	return slot, true
}

// identityOf returns the identity of a member Lease, false if it is not that of a member.
func (o Options) identityOf(name string) (string, bool) {
	return strings.CutPrefix(name, o.Group+memberInfix)
}

// takenBy returns a slot's Lease, of which old is the last state or nil, with a new owner.
func (o Options) takenBy(slot int, old *coordinationv1.Lease, transition int32, member *coordinationv1.Lease, now time.Time) *coordinationv1.Lease {
	lease := o.newLease(o.slotLeaseName(slot), nil)
	if old != nil {
		lease = old.DeepCopy()
	}
	if lease.Annotations == nil {
		lease.Annotations = make(map[string]string)
	}
	lease.Annotations[memberAnnotation] = member.Name
	lease.Annotations[memberUIDAnnotation] = string(member.UID)
	lease.Annotations[memberTransitionAnnotation] = strconv.Itoa(int(transitionOf(member)))
	lease.Spec.HolderIdentity = new(holderOf(member))
	lease.Spec.AcquireTime = new(metav1.NewMicroTime(now))
	lease.Spec.LeaseTransitions = &transition
	return lease
}

// expired returns a copy of a member's Lease, without its holder, which has not renewed it in time.
func expired(lease *coordinationv1.Lease) *coordinationv1.Lease {
	holder := holderOf(lease)
	lease = withoutHolder(lease)
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, expiredAnnotation, holder)
	return lease
}

// withoutHolder returns a copy of a Lease, without its holder.
func withoutHolder(lease *coordinationv1.Lease) *coordinationv1.Lease {
	lease = lease.DeepCopy()
	lease.Spec.HolderIdentity = nil
	return lease
}

func (o Options) newLease(name string, annotations map[string]string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{groupLabel: o.Group}, Annotations: annotations,
	}}
}

// setObjects records in a member's Lease how many objects it has, if that is known.
func setObjects(lease *coordinationv1.Lease, objects int, known bool) {
	delete(lease.Annotations, objectsAnnotation)
	if known {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, objectsAnnotation, strconv.Itoa(objects))
	}
}

// objectsOf returns how many objects a member has according to its Lease, -1 if that is not known.
func objectsOf(lease *coordinationv1.Lease) int {
	objects, err := strconv.Atoi(lease.Annotations[objectsAnnotation])
	if err != nil || objects < 0 {
		return -1
	}
	return objects
}

// owner is what the Lease of a slot says of its owner.
type owner struct {
	member      string // name of the member's Lease
	uid         types.UID
	acquired    int32  // leaseTransitions of the member's Lease since the incarnation holds it
	incarnation string // empty if the Lease has no holder
	transition  int32
}

func ownerOf(lease *coordinationv1.Lease) owner {
	acquired, _ := strconv.ParseInt(lease.Annotations[memberTransitionAnnotation], 10, 32) // 0 if there is none
	return owner{
		member:      lease.Annotations[memberAnnotation],
		uid:         types.UID(lease.Annotations[memberUIDAnnotation]),
		incarnation: holderOf(lease),
		acquired:    int32(acquired),
		transition:  transitionOf(lease),
	}
}
