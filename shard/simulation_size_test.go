// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race && !stress

package shard

// Sizes of the simulation. The build tag stress raises them. The files of the simulation are not
// built for the race detector, which crashes now and then where a bubble has many timers
// (golang/go#78156). The e2e tests run replicas with it.
const (
	simulatedSchedules = 15 // of TestReplicasShareSlots
	movesSeeds         = 1  // orders of replicas of TestJoinOrLeaveMovesFewSlots
	stuckMembers       = 40 // of TestStuckWatchesDoNotFloodTheServer
)
