// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package kuberay_test

import (
	"fmt"
	"slices"
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
  - {groupName: small, replicas: REPLICAS, minReplicas: 0, maxReplicas: 5, rayStartParams: {}, scaleStrategy: {workersToDelete: [DELETE]}, template: {spec: {containers: [{name: worker, image: ray}]}}}
`

func sized(replicas, deleted string) *unstructured.Unstructured {
	return simulated.Template(cluster)("REPLICAS", replicas, "DELETE", deleted)
}

func rayClusters(t *testing.T, scaleDown func(*simulate.World), disturb ...simulate.Disturbance) simulate.Test {
	t.Helper()
	return simulate.Test{
		CustomResources: []fake.CustomResource{simulated.Definition(t, "github.com/ray-project/kuberay/ray-operator", "config/crd/bases/ray.io_rayclusters.yaml")},
		Objects:         []fake.Object{sized("1", "")},
		Start:           simulatecr.Start(ctrl.Options{Scheme: simulated.Scheme(rayv1.AddToScheme)}, setUp),
		Cluster:         []simulate.Actor{simulate.CollectGarbage, simulate.RunPods},
		Invariants:      []func(simulate.Write) error{keepWorkers},
		Disturb:         disturb,
		Steps: func(w *simulate.World) {
			w.Update(sized("3", ""))
			w.Settle()
			scaleDown(w)
			w.Settle()
			w.Delete(sized("2", ""))
		},
	}
}

// keepWorkers returns an error if a delete leaves less than two workers to a RayCluster that is
// scaled down to two. Before, it has one, and the second is deleted that was created because the
// events of the first came late.
func keepWorkers(w simulate.Write) error {
	if w.Err != nil || w.Verb != "delete" || w.Resource.Resource != "pods" || !isScaledDown(w.After) {
		return nil
	}
	workers := slices.DeleteFunc(simulate.All[*corev1.Pod](w.After), func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || pod.Labels["ray.io/node-type"] != "worker"
	})
	if len(workers) < 2 {
		return fmt.Errorf("%d workers are left", len(workers))
	}
	return nil
}

// isScaledDown reports whether the RayCluster wants two workers.
func isScaledDown(s simulate.State) bool {
	for _, cluster := range simulate.All[*unstructured.Unstructured](s) {
		groups, _, _ := unstructured.NestedSlice(cluster.Object, "spec", "workerGroupSpecs")
		if len(groups) == 1 && groups[0].(map[string]any)["replicas"] == int64(2) {
			return true
		}
	}
	return false
}
