// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build before

package jobset_test

import (
	"testing"

	"github.com/kinformer/kinformer/e2e/simulated"
	"github.com/kinformer/kinformer/simulate"
)

// The Jobs of a JobSet are those of its name: one that is created again counts those that have not
// been deleted yet (kubernetes-sigs/jobset#1169).
func TestKnownBugIsFound(t *testing.T) {
	simulated.Finds(t, jobSets(recreate, simulate.Crash{}, simulate.Lag{}, simulate.Gap{}), "Job default/train-driver-0 is")
}
