// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package mpi_test

import (
	"context"
	"testing"

	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app/options"
	clientset "github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned"
	"github.com/kubeflow/mpi-operator/pkg/client/informers/externalversions"
	"github.com/kubeflow/mpi-operator/pkg/controller"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/e2e/simulated"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

const job = `
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pi, namespace: default}
spec:
  slotsPerWorker: 1
  runPolicy: {cleanPodPolicy: Running, suspend: SUSPEND}
  sshAuthMountPath: /ssh
  mpiReplicaSpecs:
    Launcher: {replicas: 1, template: {spec: {containers: [{name: launcher, image: pi}]}}}
    Worker: {replicas: REPLICAS, template: {spec: {containers: [{name: worker, image: pi}]}}}
`

func start(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	jobs, err := clientset.NewForConfig(config)
	if err != nil {
		return err
	}
	core, custom := informers.NewSharedInformerFactory(client, 0), externalversions.NewSharedInformerFactory(jobs, 0)
	v1 := core.Core().V1()
	c, err := controller.NewMPIJobController(ctx, client, jobs, nil, nil, v1.ConfigMaps(), v1.Secrets(), v1.Services(), core.Batch().V1().Jobs(), v1.Pods(),
		core.Scheduling().V1().PriorityClasses(), custom.Kubeflow().V2beta1().MPIJobs(), &options.ServerOption{ControllerRateLimit: 10, ControllerBurst: 100})
	if err != nil {
		return err
	}
	core.Start(ctx.Done())
	custom.Start(ctx.Done())
	return c.Run(1, ctx.Done())
}

func mpiJobs(t *testing.T, disturb ...simulate.Disturbance) simulate.Test {
	t.Helper()
	spec := simulated.Template(job)
	return simulate.Test{
		CustomResources: []fake.CustomResource{simulated.Definition(t, "github.com/kubeflow/mpi-operator", "manifests/base/kubeflow.org_mpijobs.yaml")},
		Objects:         []fake.Object{spec("REPLICAS", "2", "SUSPEND", "false")},
		Start:           start,
		Cluster:         []simulate.Actor{simulate.CollectGarbage, simulate.RunPods},
		Without:         []simulate.Oracle{simulate.Goroutines}, // the event broadcaster is not stopped
		Ignore:          []string{"Secret data"},                // a random key
		Disturb:         disturb,
		Steps: func(w *simulate.World) {
			w.Update(spec("REPLICAS", "3", "SUSPEND", "false"))
			w.Settle()
			w.Update(spec("REPLICAS", "1", "SUSPEND", "false"))
			w.Settle()
			w.Update(spec("REPLICAS", "1", "SUSPEND", "true"))
		},
	}
}

func TestMPIJob(t *testing.T) {
	simulate.Run(t, mpiJobs(t, simulate.Crash{}, simulate.LostResponse{}, simulate.Lag{}, simulate.Gap{}))
}

// The controller writes into the launcher Job that it has got from the lister. If the update that
// suspends it fails, the cache says that it is suspended, and it is not tried again.
func TestFailedUpdateStaysInCache(t *testing.T) {
	simulated.Finds(t, mpiJobs(t, simulate.ServerError{}), `Job default/pi-launcher: spec.suspend is "false", and "true" in the undisturbed run`)
}
