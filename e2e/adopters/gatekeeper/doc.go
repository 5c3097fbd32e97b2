// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package gatekeeper is gatekeeper's case on package follow: the objects of the kinds that Config
// objects name are synced into the data cache of a policy engine. The server may serve a kind
// later, never, or for a while, and the same holds for Configs.
//
// [Watches] does what gatekeeper's pkg/watch does: several parts of a program share the informer of
// a kind, and a part that joins receives the objects that are there. [Syncer] reads Configs and
// fills the data cache. docs/follow.md has the lines of both beside gatekeeper's.
package gatekeeper
