// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulated

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/simulate"
)

// RunJobs starts Jobs that are not suspended, and ends those for which end returns JobComplete or
// JobFailed.
func RunJobs(end func(simulate.State, *batchv1.Job) batchv1.JobConditionType) simulate.Actor {
	return func(s simulate.State) []simulate.Action {
		var actions []simulate.Action
		for _, job := range simulate.All[*batchv1.Job](s) {
			if job.DeletionTimestamp != nil || len(job.Status.Conditions) > 0 {
				continue
			}
			next := job.DeepCopy()
			condition := end(s, job)
			switch {
			case condition != "":
				endJob(next, condition)
			case job.Status.Active == 0 && !*job.Spec.Suspend:
				next.Status.Active, next.Status.Ready = 1, new(int32(1))
			default:
				continue
			}
			actions = append(actions, simulate.Action{Verb: "update status", Object: next})
		}
		return actions
	}
}

func endJob(job *batchv1.Job, condition batchv1.JobConditionType) {
	job.Status.Active, job.Status.Ready = 0, new(int32(0))
	job.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue}}
	if condition == batchv1.JobFailed {
		job.Status.Failed = 1
		return
	}
	job.Status.Succeeded = 1
}
