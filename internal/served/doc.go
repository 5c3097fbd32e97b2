// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package served holds what is known of whether a server serves a resource. Package follow finds it
// out, a [Resource] keeps its last [Verdict], and the reflectors of all informers of the resource
// obey:
//
//	follow ── Set ──▶ Resource ── Verdict, WithContext ──▶ reflector
//	                     ▲                                     │ is the verdict true?
//	                     └────────────── Confirm ◀─────────────┘ 404
//
// A verdict that the resource is absent ends the requests of a reflector. If its store has objects,
// the reflector makes one more request, whose 404 confirms the verdict: the evidence of a follower
// may come from another server than the one that answers the reflector. A verdict that the resource
// is no longer selected needs no confirmation. While there is no verdict, or the resource is only
// unlisted, a reflector whose store has objects goes on. If requests prove the opposite of a
// verdict, the resource is requested all the same: a [Disproof] remembers for each store that its
// objects are not those of which the verdict says that they are gone. Programs pass a
// Resource from package follow to informers as [Published], which is cache.Served.
//
// A [Budget] limits the requests of a reflector. It outlasts the absence of the resource. If
// another informer takes the place of one that has ended, as in follow.Informers, its reflector
// continues the budget, Resource.Budget.
package served
