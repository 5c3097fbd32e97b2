// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulatecr_test

import (
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
	"github.com/kinformer/kinformer/simulate/simulatecr"
)

// The options and the function that adds the controllers are those that main passes to
// ctrl.NewManager and calls.
func ExampleStart() {
	var t *testing.T // of the test
	options := ctrl.Options{LeaderElection: true, LeaderElectionID: "copy-to-secret"}
	simulate.Run(t, simulate.Test{
		Start:    simulatecr.Start(options, copyToSecret),
		Replicas: 2,
		Objects:  []fake.Object{source("1")},
		Steps:    func(w *simulate.World) { w.Update(source("2")) },
	})
}
