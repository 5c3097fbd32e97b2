// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !stress && race

package shard

// With many timers in a bubble the race detector itself crashes now and then (golang/go#78156), so
// that it sees few schedules.
const (
	simulatedSchedules = 2 // of TestReplicasShareSlots
	movesSeeds         = 0 // orders of replicas of TestJoinOrLeaveMovesFewSlots
	stuckMembers       = 8 // of TestStuckWatchesDoNotFloodTheServer
)
