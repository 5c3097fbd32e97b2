// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race && stress

package shard

const (
	simulatedSchedules = 5000 // of TestReplicasShareSlots
	movesSeeds         = 20   // orders of replicas of TestJoinOrLeaveMovesFewSlots
	stuckMembers       = 40   // of TestStuckWatchesDoNotFloodTheServer
)
