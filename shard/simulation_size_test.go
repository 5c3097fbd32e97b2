// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !stress && !race

package shard

// Sizes of the simulation. The build tag stress raises them.
const (
	simulatedSchedules = 15 // of TestReplicasShareSlots
	movesSeeds         = 1  // orders of replicas of TestJoinOrLeaveMovesFewSlots
	stuckMembers       = 40 // of TestStuckWatchesDoNotFloodTheServer
)
