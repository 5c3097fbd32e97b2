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
// A controller that skips an object, or whose write fails, because the slot is not its own must try
// again, as after any error. The informer drops the objects of a slot that was lost, which ends the
// attempts. If the replica takes the slot again before, the next attempt succeeds.
//
// The client of the Leases should have a limit of its own on requests per second, so that renewals
// do not wait behind the controller's requests: a clientset with another rest.Config. With
// client-go's default of five per second, the first replica takes six seconds for 32 slots.
//
// # Slots and Leases
//
// The hash space of 64-bit FNV-1a over the objects' UIDs or namespaces is cut into a fixed number
// of slots, each of which one replica owns at a time. A replica renews one Lease, its membership,
// every fifth of LeaseDuration. The Lease of a slot is written only when the slot changes its
// owner. It names the owner's member Lease, with its UID, and the owner's incarnation: the identity
// of the replica and a random suffix. A replica that is started again is another incarnation.
//
// To take the slots of a replica that has failed, another one watches its member Lease unchanged
// for LeaseDuration by its own monotonic clock. It then expires that Lease, by an update that
// carries its resourceVersion. From then on a renewal of the former incarnation fails, and its
// slots are free. They are taken by updates that carry the resourceVersions of the slots' Leases.
//
// A watch of Leases that is stuck shows all members as failed. A replica notices it by its own
// renewals, which the watch must show within two fifths of LeaseDuration. It then lists the Leases
// once per LeaseDuration, and takes a member for failed if two lists, a LeaseDuration apart, have
// the same state of the member's Lease. The watch may go on at any time: its states up to the
// version of the list are older, and are ignored.
//
// Renewals apart, ten requests of a replica may fail at once, and three more per LeaseDuration. A
// Lease that another replica has changed meanwhile counts as seen: it is not written again for a
// LeaseDuration, unless the replica sees another state of it before.
//
// The owner of a slot ends the slot's context RenewDeadline after its last successful renewal was
// sent, by its monotonic or its wall clock, whichever is ahead. So no two replicas own one slot at
// a time, as long as no clock runs faster than another one by LeaseDuration/RenewDeadline, and no
// wall clock is set back while its machine is suspended or within a LeaseDuration of that, which
// would hide the time.
//
// # What is guaranteed
//
// No write begins after the context of its slot has ended, except by a process that is stopped
// between the check of the context and the sending of the request. Such a write, or one that was
// delayed on its way, cannot overwrite one of a newer owner, since the resourceVersion that it
// carries is then no longer current. It may come first, however, and the newer owner may see it:
// Leases cannot make the API server refuse the requests of a former owner.
package shard
