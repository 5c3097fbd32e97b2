// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package shard divides a collection between the replicas of a controller. Each replica holds, and
// writes, its part of the objects; the API server is the only coordinator, through Leases.
//
//	member, err := shard.New(clientset.CoordinationV1().Leases("web"), shard.Options{Group: "web", Identity: podName})
//	configMaps := cache.NewSharedInformer(lw, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: member.Scopes()})
//	go member.Run(ctx)
//	go configMaps.Run(ctx)
//
// A write to an object takes the context of its slot, and carries the resourceVersion of the object
// that it was computed from:
//
//	slot, ok := member.Slot(configMap)
//	if !ok {
//		return shard.ErrNotOwner // try again, until the informer has dropped it
//	}
//	ctx, cancel := slot.Context(ctx)
//	defer cancel()
//	_, err = clientset.CoreV1().ConfigMaps(configMap.Namespace).Update(ctx, changed, metav1.UpdateOptions{})
//
// If the replica does not own the slot, the controller must not write, and must try again, as after
// a write that failed. If the replica has lost the slot, the informer drops the slot's objects,
// which ends the attempts. If the replica takes the slot again before that, the next attempt
// succeeds.
//
// The group's name is all that connects its replicas. Options.Program, the name of the program,
// keeps those of another program out that use the same group by mistake.
//
// The client of the Leases should be a clientset with a rest.Config of its own, and so a limit of
// its own on requests per second. Otherwise renewals wait behind the controller's requests. With
// client-go's default of five per second, the first replica needs six seconds to take 32 slots.
//
// # Slots and Leases
//
// The hash space of 64-bit FNV-1a over the objects' UIDs or namespaces is cut into a fixed number
// of slots, each of which one replica owns at a time. Slots are spread evenly over the replicas:
// each has its fair share. Objects are, too, by UIDs, but not always by namespaces; see
// Options.HashField. A replica renews one Lease, its member Lease, every fifth of
// LeaseDuration. The Lease of a slot is written only when the slot changes its owner. It names the
// owner's member Lease, with its UID, and the owner's incarnation: the identity of the replica and
// a random suffix. A replica that is started again is another incarnation.
//
// A replica takes the slots of a failed one as follows. It watches the failed replica's member
// Lease until that has not changed for LeaseDuration, by the monotonic clock of the watching
// replica. It then expires the Lease, by an update that carries the Lease's resourceVersion. The
// update removes the holder, and records it in an annotation, which distinguishes an owner that has
// failed from one that has stopped. From then on, a renewal by the failed incarnation fails, and
// its slots are free. Replicas take them by updates that carry the resourceVersions of the slots'
// Leases.
//
// If the watch of Leases is stuck, the replica sees no renewals, and all other members look failed.
// It notices this by its own renewals, which the watch must show within two fifths of
// LeaseDuration. It then lists the Leases once per LeaseDuration, and regards a member as failed if
// two lists, a LeaseDuration apart, have the same state of the member's Lease. Once the watch goes
// on, the replica ignores its events up to the version of the last list.
//
// At most ten requests of a replica may fail at once, and three more per LeaseDuration; then it
// waits. Renewals and attempts to join do not count. If a write fails because another replica has
// changed the Lease, the replica does not write that Lease for a LeaseDuration, or until it has
// seen another state of it.
//
// The owner of a slot ends the slot's context RenewDeadline after it sent its last successful
// renewal. It measures this time by its monotonic and by its wall clock, and uses the longer one.
// So no two replicas own one slot at a time, under three conditions:
//
//   - No clock runs faster than another one by the factor LeaseDuration/RenewDeadline or more.
//   - The wall clock of a machine advances while it is suspended, and is not set back then or
//     within a LeaseDuration after it.
//   - No one deletes the Lease of a slot by hand.
//
// # What is guaranteed
//
// No write begins after the context of its slot has ended, except by a process that is stopped
// between the check of the context and the sending of the request. Such a write, or one that was
// delayed on its way, cannot overwrite one of a newer owner, since the resourceVersion that it
// carries is then no longer current. If the newer owner has not written to the object yet, however,
// it succeeds: Leases cannot make the API server refuse the requests of a former owner.
package shard
