// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package kuberay_test

import (
	"context"
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kinformer/kinformer/e2e/simulated"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
	"github.com/kinformer/kinformer/simulate/simulatecr"
)

const cluster = `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray, namespace: default}
spec:
  rayVersion: 2.46.0
  headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: head, image: ray}]}}}
  workerGroupSpecs:
  - {groupName: small, replicas: REPLICAS, minReplicas: 0, maxReplicas: 5, rayStartParams: {}, template: {spec: {containers: [{name: worker, image: ray}]}}}
`

func setUp(m ctrl.Manager) error {
	return ray.NewReconciler(context.Background(), m, ray.RayClusterReconcilerOptions{}).SetupWithManager(m, 1)
}

func rayClusters(t *testing.T, disturb ...simulate.Disturbance) simulate.Test {
	t.Helper()
	spec := simulated.Template(cluster)
	return simulate.Test{
		CustomResources: []fake.CustomResource{simulated.Definition(t, "github.com/ray-project/kuberay/ray-operator", "config/crd/bases/ray.io_rayclusters.yaml")},
		Objects:         []fake.Object{spec("REPLICAS", "1")},
		Start:           simulatecr.Start(ctrl.Options{Scheme: simulated.Scheme(rayv1.AddToScheme)}, setUp),
		Cluster:         []simulate.Actor{simulate.CollectGarbage, simulate.RunPods},
		Ignore:          []string{"Pod metadata.labels.ray.io/worker-group-replica-index"}, // of the worker that is too many, whichever it is
		Disturb:         disturb,
		Steps: func(w *simulate.World) {
			w.Update(spec("REPLICAS", "3"))
			w.Settle()
			w.Update(spec("REPLICAS", "2"))
			w.Settle()
			w.Delete(spec("REPLICAS", "2"))
		},
	}
}

func TestRayCluster(t *testing.T) {
	simulate.Run(t, rayClusters(t, simulate.Crash{}, simulate.Conflict{}, simulate.ServerError{}, simulate.TooManyRequests{}, simulate.Lag{}, simulate.Gap{}))
}

// The name of the head Pod is generated: if the response of its create is lost, there are two, and the RayCluster is not
// reconciled any more.
func TestLostResponseMakesTwoHeads(t *testing.T) {
	simulated.Finds(t, rayClusters(t, simulate.LostResponse{}), "Pod default/ray-head-*2 is there, and should not be")
}
