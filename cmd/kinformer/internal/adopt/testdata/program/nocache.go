// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	ctrl "sigs.k8s.io/controller-runtime"
)

func withoutCache(cache any) any {
	return ctrl.NewManager(cache, ctrl.Options{
		// Replicas elect a leader.
		LeaderElection: true,
	})
}
