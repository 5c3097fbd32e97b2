// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package jobset_test

import (
	"context"
	"errors"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/controllers"

	"github.com/kinformer/kinformer/e2e/simulated"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
	"github.com/kinformer/kinformer/simulate/simulatecr"
)

var jobSet = simulated.Parse(`
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, namespace: default}
spec:
  successPolicy: {operator: All}
  startupPolicy: {startupPolicyOrder: AnyOrder}
  network: {enableDNSHostnames: true, publishNotReadyAddresses: true}
  failurePolicy: {maxRestarts: 2}
  replicatedJobs:
  - {name: driver, groupName: default, replicas: 1, template: {spec: &job {parallelism: 1, completions: 1, completionMode: Indexed, template: {spec: {restartPolicy: OnFailure, containers: [{name: a, image: a}]}}}}}
  - {name: workers, groupName: default, replicas: 2, template: {spec: *job}}
`)

func setUp(m ctrl.Manager) error {
	return errors.Join(
		controllers.SetupJobSetIndexes(context.Background(), m.GetFieldIndexer()),
		controllers.SetupPodIndexes(context.Background(), m.GetFieldIndexer()),
		controllers.NewPodReconciler(m.GetClient(), m.GetScheme(), m.GetEventRecorderFor("pod")).SetupWithManager(m),
		controllers.NewJobSetReconciler(m.GetClient(), m.GetScheme(), m.GetEventRecorderFor("jobset")).SetupWithManager(m),
	)
}

// marker is a ConfigMap that makes the first attempt of a Job fail, or all Jobs succeed.
func marker(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// end returns how a Job ends, or "" while it runs.
func end(s simulate.State, job *batchv1.Job) batchv1.JobConditionType {
	switch {
	case simulated.Find[*corev1.ConfigMap](s, "default", "fail") != nil && job.Name == "train-workers-0" && job.Labels["jobset.sigs.k8s.io/restart-attempt"] == "0":
		return batchv1.JobFailed
	case simulated.Find[*corev1.ConfigMap](s, "default", "finish") != nil:
		return batchv1.JobComplete
	}
	return ""
}

// recreate creates a JobSet again before the objects of the one that was deleted are gone.
func recreate(w *simulate.World) {
	w.Settle()
	w.Delete(jobSet)
	w.Create(jobSet)
}

func jobSets(last func(*simulate.World), disturb ...simulate.Disturbance) simulate.Test {
	return simulate.Test{
		CustomResources: []fake.CustomResource{{Group: "jobset.x-k8s.io", Versions: []string{"v1alpha2"}, Kind: "JobSet", StatusSubresource: true}},
		Objects:         []fake.Object{jobSet},
		Start:           simulatecr.Start(ctrl.Options{Scheme: simulated.Scheme(jobsetv1.AddToScheme)}, setUp),
		Cluster:         []simulate.Actor{simulated.RunJobs(end), simulate.CollectGarbage},
		Steps: func(w *simulate.World) {
			w.Create(marker("fail"))
			w.Settle()
			w.Create(marker("finish"))
			last(w)
		},
		Disturb: disturb,
	}
}

func TestJobSet(t *testing.T) {
	simulate.Run(t, jobSets((*simulate.World).Settle, simulate.Crash{}, simulate.Conflict{}, simulate.Lag{}, simulate.Gap{}))
}

// Reconcile drops the error of a status update, unless it is a conflict: the err of the if
// statement hides the one that is returned. The Jobs of a failed JobSet are not restarted before
// the next event.
func TestErrorOfStatusUpdateIsDropped(t *testing.T) {
	simulated.Finds(t, jobSets((*simulate.World).Settle, simulate.ServerError{}), `status.restarts is "0", and "1" in the undisturbed run`, "ServerError")
}

// The owner of a Service is not looked at: that of a deleted JobSet is taken for the new one's, and
// is deleted, too.
func TestServiceOfDeletedJobSetIsUsed(t *testing.T) {
	lag := simulate.Lag{After: "1st delete of services default/train by cluster"}
	simulated.Finds(t, jobSets(recreate, lag), "Service default/train is missing")
}
