// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !before

package kuberay_test

import (
	"context"
	"testing"
	"time"

	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kinformer/kinformer/e2e/simulated"
	"github.com/kinformer/kinformer/simulate"
)

func setUp(m ctrl.Manager) error {
	return ray.NewReconciler(context.Background(), m, ray.RayClusterReconcilerOptions{}).SetupWithManager(m, 1)
}

// index is the label of a worker with a number, from 0 to the number of replicas less one.
const index = "ray.io/worker-group-replica-index"

// scaleDown deletes the worker with the highest index, as Ray's autoscaler deletes one that is
// idle.
func scaleDown(w *simulate.World) {
	for _, pod := range simulate.All[*corev1.Pod](w.State()) {
		if pod.Labels[index] == "2" {
			w.Update(sized("2", pod.Name))
		}
	}
	w.Sleep(time.Minute)
	w.Update(sized("2", ""))
}

// A Lag ends before KubeRay stops to wait for its own writes, after 30 seconds. It then creates one
// worker more, and deletes any.
func TestRayCluster(t *testing.T) {
	lag := simulate.Lag{For: 20 * time.Second}
	simulate.Run(t, rayClusters(t, scaleDown, simulate.Crash{}, simulate.Conflict{}, simulate.ServerError{}, simulate.TooManyRequests{}, lag, simulate.Gap{}))
}

// The name of the head Pod is generated: if the response of its create is lost, there are two, and
// the RayCluster is not reconciled any more.
func TestLostResponseMakesTwoHeads(t *testing.T) {
	simulated.Finds(t, rayClusters(t, scaleDown, simulate.LostResponse{To: "1st create of pods default/ray-head-*"}), "Pod default/ray-head-*2 is there, and not in the undisturbed run")
}

// Without a worker to delete, the first of the cache's list is deleted, whose order is random: the
// indexes that stay are not 0 and 1. The disturbance is harmless, and makes more runs: in the ten
// that are not disturbed, the first worker may be the same.
func TestIndexesOfWorkersHaveGap(t *testing.T) {
	test := rayClusters(t, func(w *simulate.World) { w.Update(sized("2", "")) })
	test.Disturb = []simulate.Disturbance{simulate.TooManyRequests{}}
	simulated.Finds(t, test, "metadata.labels."+index+" is")
}
