// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package jobset_test

import (
	"context"
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
	if err := controllers.SetupJobSetIndexes(context.Background(), m.GetFieldIndexer()); err != nil {
		return err
	}
	if err := controllers.SetupPodIndexes(context.Background(), m.GetFieldIndexer()); err != nil {
		return err
	}
	if err := controllers.NewPodReconciler(m.GetClient(), m.GetScheme(), m.GetEventRecorderFor("pod")).SetupWithManager(m); err != nil {
		return err
	}
	return controllers.NewJobSetReconciler(m.GetClient(), m.GetScheme(), m.GetEventRecorderFor("jobset")).SetupWithManager(m)
}

// marker is a ConfigMap that makes runJobs let the first attempt of a Job fail, or all Jobs succeed.
func marker(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func runJobs(s simulate.State) []simulate.Action {
	fail, finish := simulated.Find[*corev1.ConfigMap](s, "default", "fail") != nil, simulated.Find[*corev1.ConfigMap](s, "default", "finish") != nil
	var actions []simulate.Action
	for _, job := range simulate.All[*batchv1.Job](s) {
		next := job.DeepCopy()
		condition := batchv1.JobCondition{Status: corev1.ConditionTrue}
		switch {
		case job.DeletionTimestamp != nil || len(job.Status.Conditions) > 0:
			continue
		case fail && job.Name == "train-workers-0" && job.Labels["jobset.sigs.k8s.io/restart-attempt"] == "0":
			condition.Type, next.Status.Failed, next.Status.Active, next.Status.Ready = batchv1.JobFailed, 1, 0, new(int32(0))
		case finish:
			condition.Type, next.Status.Succeeded, next.Status.Active, next.Status.Ready = batchv1.JobComplete, 1, 0, new(int32(0))
		case job.Status.Active == 0 && !*job.Spec.Suspend:
			next.Status.Active, next.Status.Ready = 1, new(int32(1))
		default:
			continue
		}
		if condition.Type != "" {
			next.Status.Conditions = []batchv1.JobCondition{condition}
		}
		actions = append(actions, simulate.Action{Verb: "update status", Object: next})
	}
	return actions
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
		Cluster:         []simulate.Actor{runJobs, simulate.CollectGarbage},
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

// Reconcile drops the error of a status update, unless it is a conflict: the err of the if statement hides the one that is
// returned. The Jobs of a failed JobSet are not restarted before the next event.
func TestErrorOfStatusUpdateIsDropped(t *testing.T) {
	simulated.Finds(t, jobSets((*simulate.World).Settle, simulate.ServerError{}), `status.restarts is "0", and "1" in the undisturbed run`, "ServerError")
}

// A Service of the same name is taken for that of the JobSet, whoever owns it: that of a deleted JobSet will be deleted, too.
func TestServiceOfDeletedJobSetIsUsed(t *testing.T) {
	lag := simulate.Lag{After: "1st delete of services default/train by cluster"}
	simulated.Finds(t, jobSets(recreate, lag), "Service default/train is missing")
}
