// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ControlJobs implements simulate.ControlJobs.
func ControlJobs(s State) []Action {
	return append(forEach(s, controlJob), forEach(s, releasePod)...)
}

// releasePod returns the write that removes the finalizer of a Pod whose Job is gone, or has ended.
func releasePod(s State, pod *corev1.Pod) []Action {
	owner := metav1.GetControllerOf(pod)
	if !isTracked(pod) || owner != nil && owner.Kind != "Job" {
		return nil
	}
	for _, job := range All[*batchv1.Job](s) {
		if owner != nil && job.UID == owner.UID && !hasCondition(job, batchv1.JobComplete) && !hasCondition(job, batchv1.JobFailed) {
			return nil
		}
	}
	return withoutFinalizer(pod, batchv1.JobTrackingFinalizer)
}

func controlJob(s State, job *batchv1.Job) []Action {
	if !isValid(job.Spec.Parallelism, job.Spec.Selector, job.Spec.Template) || isIndexed(job) && job.Spec.Completions == nil {
		return nil
	}
	if hasCondition(job, batchv1.JobComplete) || hasCondition(job, batchv1.JobFailed) ||
		job.Spec.ManagedBy != nil && *job.Spec.ManagedBy != batchv1.JobControllerName {
		return nil
	}
	pods, actions := claim(All[*corev1.Pod](s), job, batchv1.SchemeGroupVersion.WithKind("Job"), job.Spec.Selector, batchv1.JobTrackingFinalizer)
	if len(actions) > 0 {
		return actions
	}
	j := newTracking(job, pods)
	actions = j.next()
	if !equality.Semantic.DeepEqual(j.status, job.Status) {
		actions = append(actions, Action{Verb: "update status", Object: changed(job, func(next *batchv1.Job) { next.Status = j.status })})
	}
	return actions
}

// hasCondition reports whether a condition of a Job is true.
func hasCondition(job *batchv1.Job, condition batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == condition && c.Status == corev1.ConditionTrue })
}

// isTracked reports whether a Pod waits until its Job has counted it.
func isTracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}

// tracking is a Job and its Pods. A Pod that has ended is counted in three writes, so that none is
// forgotten: the status notes its UID, its finalizer is removed, and the status counts it.
type tracking struct {
	*batchv1.Job
	pods, active []*corev1.Pod
	status       batchv1.JobStatus // the next one
	completed    []int             // indexes
	failed       int32             // number of Pods, those included that are not yet counted
	succeeded    int32             // number of Pods or indexes, as failed
	terminating  int32
}

func newTracking(job *batchv1.Job, pods []*corev1.Pod) *tracking {
	j := &tracking{Job: job, pods: pods, active: where(pods, isActive), status: *job.Status.DeepCopy(), terminating: count(pods, isTerminating)}
	j.status.Active, j.status.Ready, j.status.Terminating = int32(len(j.active)), new(count(j.active, isReady)), &j.terminating
	if j.status.UncountedTerminatedPods == nil {
		j.status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	j.completed = where(parseIndexes(job.Status.CompletedIndexes), func(i int) bool { return j.isIndexed() && j.isIndex(i) })
	j.count()
	j.note()
	j.suspend(j.finish())
	return j
}

// isIndexed reports whether each Pod of a Job has an index.
func isIndexed(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}

func (j *tracking) isIndexed() bool { return isIndexed(j.Job) }

func (j *tracking) isSuspended() bool { return j.Spec.Suspend != nil && *j.Spec.Suspend }

// count adds the Pods to the numbers of the status whose finalizers are removed.
func (j *tracking) count() {
	uncounted := j.status.UncountedTerminatedPods
	remaining := func(uids []types.UID) []types.UID {
		return where(uids, func(uid types.UID) bool {
			return slices.ContainsFunc(j.pods, func(pod *corev1.Pod) bool { return pod.UID == uid && isTracked(pod) })
		})
	}
	succeeded, failed := remaining(uncounted.Succeeded), remaining(uncounted.Failed)
	j.status.Succeeded += int32(len(uncounted.Succeeded) - len(succeeded))
	j.status.Failed += int32(len(uncounted.Failed) - len(failed))
	uncounted.Succeeded, uncounted.Failed = succeeded, failed
}

// note adds the Pods to the status that have ended, and whose finalizers are to be removed.
func (j *tracking) note() {
	uncounted := j.status.UncountedTerminatedPods
	for _, pod := range j.pods {
		index := indexOf(pod)
		switch {
		case !isTracked(pod), slices.Contains(uncounted.Succeeded, pod.UID), slices.Contains(uncounted.Failed, pod.UID):
		case j.isIndexed() && !j.isIndex(index):
		case pod.Status.Phase == corev1.PodSucceeded && j.isIndexed():
			if !slices.Contains(j.completed, index) {
				j.completed = append(j.completed, index)
			}
		case pod.Status.Phase == corev1.PodSucceeded:
			uncounted.Succeeded = append(uncounted.Succeeded, pod.UID)
		case j.hasFailed(pod), hasCondition(j.Job, batchv1.JobFailureTarget):
			uncounted.Failed = append(uncounted.Failed, pod.UID)
		}
	}
	if j.isIndexed() {
		slices.Sort(j.completed)
		j.status.CompletedIndexes, j.status.Succeeded = formatIndexes(j.completed), int32(len(j.completed))
	}
	j.succeeded = j.status.Succeeded + int32(len(uncounted.Succeeded))
	j.failed = j.status.Failed + int32(len(uncounted.Failed))
}

// hasFailed reports whether a Pod counts as failed. One that is deleted does so before it has
// stopped, unless only Pods that have failed are replaced.
func (j *tracking) hasFailed(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodSucceeded && !j.replacesFailedOnly()
}

func (j *tracking) replacesFailedOnly() bool {
	return j.Spec.PodReplacementPolicy != nil && *j.Spec.PodReplacementPolicy == batchv1.Failed
}

// finish sets the conditions of a Job that ends: first the one that says how, and when all Pods are
// counted and gone, the one that says that it has. It reports whether the Job ends.
func (j *tracking) finish() bool {
	uncounted := j.status.UncountedTerminatedPods
	counted := len(uncounted.Succeeded)+len(uncounted.Failed) == 0 && j.terminating == 0 && len(j.active) == 0
	for _, condition := range j.Status.Conditions {
		switch {
		case condition.Status != corev1.ConditionTrue:
		case condition.Type == batchv1.JobSuccessCriteriaMet && counted:
			j.status.CompletionTime = new(metav1.Now())
			j.set(batchv1.JobComplete, corev1.ConditionTrue, condition.Reason, condition.Message)
		case condition.Type == batchv1.JobFailureTarget && counted:
			j.set(batchv1.JobFailed, corev1.ConditionTrue, condition.Reason, condition.Message)
		}
	}
	switch {
	case j.isEnding():
	case j.exceedsBackoffLimit():
		if len(j.active) == 0 {
			j.set(batchv1.JobFailureTarget, corev1.ConditionTrue, batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
		}
	case len(j.active) == 0 && j.isSuccessful():
		j.set(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue, batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods")
	default:
		return false
	}
	return true
}

// isEnding reports whether the stored status says how the Job ends.
func (j *tracking) isEnding() bool {
	return hasCondition(j.Job, batchv1.JobSuccessCriteriaMet) || hasCondition(j.Job, batchv1.JobFailureTarget)
}

func (j *tracking) exceedsBackoffLimit() bool { return j.failed > *j.Spec.BackoffLimit }

func (j *tracking) isSuccessful() bool {
	if j.Spec.Completions == nil {
		return j.succeeded > 0
	}
	return j.succeeded >= *j.Spec.Completions
}

// suspend sets the condition Suspended and the time of the start. A Job that ends is not suspended
// any more.
func (j *tracking) suspend(ends bool) {
	was := hasCondition(j.Job, batchv1.JobSuspended)
	switch {
	case j.DeletionTimestamp != nil:
	case j.isSuspended() && !was && !ends:
		j.set(batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "Job suspended")
		j.status.StartTime = nil
	case !j.isSuspended() && was:
		j.set(batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "Job resumed")
		j.status.StartTime = new(metav1.Now())
	case !j.isSuspended() && j.status.StartTime == nil:
		j.status.StartTime = new(metav1.Now())
	}
}

// set sets a condition of the next status.
func (j *tracking) set(condition batchv1.JobConditionType, status corev1.ConditionStatus, reason, message string) {
	next := batchv1.JobCondition{
		Type: condition, Status: status, Reason: reason, Message: message, LastProbeTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}
	if i := slices.IndexFunc(j.status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == condition }); i >= 0 {
		j.status.Conditions[i] = next
		return
	}
	j.status.Conditions = append(j.status.Conditions, next)
}

// next returns the next writes to Pods.
func (j *tracking) next() []Action {
	var actions []Action
	for _, pod := range j.pods {
		if isTracked(pod) && j.isNoted(pod) {
			actions = append(actions, withoutFinalizer(pod, batchv1.JobTrackingFinalizer)...)
		}
	}
	active, wanted := len(j.active), j.wanted()
	if j.replacesFailedOnly() {
		active += int(j.terminating) // which have to stop first
	}
	switch {
	case len(actions) > 0, j.DeletionTimestamp != nil:
	case j.isEnding(), j.exceedsBackoffLimit():
		for _, pod := range j.active { // they count as failed
			actions = append(actions, Action{Verb: "delete", Object: pod})
		}
	case len(j.active) > wanted:
		return j.remove(slices.MinFunc(j.active, j.compareForRemoval))
	case active < wanted:
		return j.create()
	}
	return actions
}

// isNoted reports whether the stored status has what is to be known of a Pod that has ended.
func (j *tracking) isNoted(pod *corev1.Pod) bool {
	index, uncounted := indexOf(pod), j.Status.UncountedTerminatedPods
	switch {
	case j.DeletionTimestamp != nil:
		return true
	case uncounted != nil && (slices.Contains(uncounted.Succeeded, pod.UID) || slices.Contains(uncounted.Failed, pod.UID)):
		return true
	case !j.isIndexed():
		return false
	case !j.isIndex(index):
		return hasEnded(pod) || j.hasFailed(pod)
	}
	return pod.Status.Phase == corev1.PodSucceeded && slices.Contains(parseIndexes(j.Status.CompletedIndexes), index)
}

// wanted returns the number of Pods that are to be active.
func (j *tracking) wanted() int {
	switch {
	case j.isSuspended():
		return 0
	case j.Spec.Completions != nil:
		return int(max(0, min(*j.Spec.Completions-j.succeeded, *j.Spec.Parallelism)))
	case j.succeeded > 0:
		return len(j.active)
	}
	return int(*j.Spec.Parallelism)
}

// remove returns the next write that deletes a Pod without counting it: its finalizer goes first.
func (j *tracking) remove(pod *corev1.Pod) []Action {
	if isTracked(pod) {
		return withoutFinalizer(pod, batchv1.JobTrackingFinalizer)
	}
	return []Action{{Verb: "delete", Object: pod}}
}

// compareForRemoval orders Pods by which is deleted first: one whose deletion has begun, then one
// without a place, and of equal Pods that of the lowest index.
func (j *tracking) compareForRemoval(a, b *corev1.Pod) int {
	rank := func(pod *corev1.Pod) int {
		switch {
		case !isTracked(pod):
			return 0
		case j.isIndexed() && !j.isIndex(indexOf(pod)):
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), compareForDeletion(a, b), cmp.Compare(indexOf(a), indexOf(b)))
}

// create returns the write that creates a Pod.
func (j *tracking) create() []Action {
	pod := podOf(j.Spec.Template, j.Job, batchv1.SchemeGroupVersion.WithKind("Job"))
	pod.Finalizers = append(without(pod.Finalizers, batchv1.JobTrackingFinalizer), batchv1.JobTrackingFinalizer)
	if !j.isIndexed() {
		return []Action{{Verb: "create", Object: pod}}
	}
	taken := slices.Clone(j.completed)
	for _, other := range j.pods {
		if isActive(other) || j.replacesFailedOnly() && isTerminating(other) {
			taken = append(taken, indexOf(other))
		}
	}
	index := 0
	for slices.Contains(taken, index) {
		index++
	}
	if !j.isIndex(index) {
		return nil
	}
	pod.GenerateName = fmt.Sprintf("%s-%d-", j.Name, index)
	pod.Spec.Hostname = fmt.Sprintf("%s-%d", j.Name, index)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, strconv.Itoa(index))
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, strconv.Itoa(index))
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			setIndexVariable(&containers[i])
		}
	}
	return []Action{{Verb: "create", Object: pod}}
}

// setIndexVariable gives a container the environment variable with the index of its Pod.
func setIndexVariable(container *corev1.Container) {
	const name = "JOB_COMPLETION_INDEX"
	if slices.ContainsFunc(container.Env, func(env corev1.EnvVar) bool { return env.Name == name }) {
		return
	}
	path := fmt.Sprintf("metadata.labels['%s']", batchv1.JobCompletionIndexAnnotation)
	source := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	container.Env = append(container.Env, corev1.EnvVar{Name: name, ValueFrom: source})
}

// isIndex reports whether an index is one of the Job's.
func (j *tracking) isIndex(index int) bool { return index >= 0 && index < int(*j.Spec.Completions) }

// indexOf returns the index of a Pod, or -1.
func indexOf(pod *corev1.Pod) int {
	index, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil {
		return -1
	}
	return index
}

// parseIndexes returns the indexes of a text such as "0-2,4".
func parseIndexes(text string) []int {
	var indexes []int
	for interval := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(interval, "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			continue // an empty text
		}
		last := first
		if isRange {
			last, _ = strconv.Atoi(to) // which formatIndexes has written
		}
		for ; first <= last; first++ {
			indexes = append(indexes, first)
		}
	}
	return indexes
}

// formatIndexes returns the text of sorted indexes.
func formatIndexes(indexes []int) string {
	var b strings.Builder
	for i := 0; i < len(indexes); i++ {
		first := indexes[i]
		for i+1 < len(indexes) && indexes[i+1] == indexes[i]+1 {
			i++
		}
		switch last := indexes[i]; last {
		case first:
			fmt.Fprintf(&b, ",%d", first)
		case first + 1:
			fmt.Fprintf(&b, ",%d,%d", first, last)
		default:
			fmt.Fprintf(&b, ",%d-%d", first, last)
		}
	}
	return strings.TrimPrefix(b.String(), ",")
}
