// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build before

package kuberay_test

import (
	"context"
	"testing"

	"github.com/ray-project/kuberay/ray-operator/apis/config/v1alpha1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kinformer/kinformer/e2e/simulated"
	"github.com/kinformer/kinformer/simulate"
)

func setUp(m ctrl.Manager) error {
	return ray.NewReconciler(context.Background(), m, ray.RayClusterReconcilerOptions{}, v1alpha1.Configuration{}).SetupWithManager(m, 1)
}

// A worker that is terminating counts as one that runs, so that another one is deleted
// (ray-project/kuberay#3286).
func TestKnownBugIsFound(t *testing.T) {
	simulated.Finds(t, rayClusters(t, func(w *simulate.World) { w.Update(sized("2", "")) }), "1 workers are left")
}
