// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The labels of the Pods of a Job that clients older than Kubernetes 1.27 select by.
const (
	legacyJobName       = "job-name"
	legacyControllerUID = "controller-uid"
)

func setJob(job *batchv1.Job) {
	spec := &job.Spec
	if spec.Parallelism == nil {
		setNil(&spec.Completions, 1)
	}
	setNil(&spec.Parallelism, 1)
	if spec.BackoffLimitPerIndex != nil {
		setNil(&spec.BackoffLimit, math.MaxInt32)
	}
	setNil(&spec.BackoffLimit, 6)
	setNil(&spec.CompletionMode, batchv1.NonIndexedCompletion)
	setNil(&spec.Suspend, false)
	setNil(&spec.ManualSelector, false)
	if spec.PodFailurePolicy != nil {
		setNil(&spec.PodReplacementPolicy, batchv1.Failed)
	}
	setNil(&spec.PodReplacementPolicy, batchv1.TerminatingOrFailed)
	copyLabels(&job.Labels, spec.Template.Labels)
	setJobTemplate(spec)
}

func setCronJob(cronJob *batchv1.CronJob) {
	spec := &cronJob.Spec
	setZero(&spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
	setNil(&spec.Suspend, false)
	setNil(&spec.SuccessfulJobsHistoryLimit, 3)
	setNil(&spec.FailedJobsHistoryLimit, 1)
	setJobTemplate(&spec.JobTemplate.Spec)
}

// setJobTemplate sets the defaults that a Job and the template of a CronJob have.
func setJobTemplate(spec *batchv1.JobSpec) {
	setPodSpec(&spec.Template.Spec)
	if spec.PodFailurePolicy == nil {
		return
	}
	for _, rule := range spec.PodFailurePolicy.Rules {
		for i := range rule.OnPodConditions {
			setZero(&rule.OnPodConditions[i].Status, corev1.ConditionTrue)
		}
	}
}

// generateSelector sets the selector of a new Job and the labels of its Pods, which name the Job
// and its UID, unless the Job has a manual selector.
func generateSelector(job *batchv1.Job) {
	spec := &job.Spec
	if spec.ManualSelector != nil && *spec.ManualSelector {
		return
	}
	if spec.Template.Labels == nil {
		spec.Template.Labels = map[string]string{}
	}
	for label, value := range map[string]string{
		legacyJobName: job.Name, batchv1.JobNameLabel: job.Name,
		legacyControllerUID: string(job.UID), batchv1.ControllerUidLabel: string(job.UID),
	} {
		if _, ok := spec.Template.Labels[label]; !ok {
			spec.Template.Labels[label] = value
		}
	}
	setNil(&spec.Selector, metav1.LabelSelector{})
	if spec.Selector.MatchLabels == nil {
		spec.Selector.MatchLabels = map[string]string{}
	}
	if _, ok := spec.Selector.MatchLabels[batchv1.ControllerUidLabel]; !ok {
		spec.Selector.MatchLabels[batchv1.ControllerUidLabel] = string(job.UID)
	}
}
