// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/fake"
)

// ControlStatefulSets implements simulate.ControlStatefulSets.
func ControlStatefulSets(s State) []Action { return forEach(s, controlStatefulSet) }

func controlStatefulSet(s State, set *appsv1.StatefulSet) []Action {
	if !isValid(set.Spec.Replicas, set.Spec.Selector, set.Spec.Template) {
		return nil
	}
	kind := appsv1.SchemeGroupVersion.WithKind("StatefulSet")
	members := where(All[*corev1.Pod](s), func(pod *corev1.Pod) bool { return ordinalOf(set.Name, pod) >= 0 })
	pods, adoptPods := claim(members, set, kind, set.Spec.Selector, "")
	stored, adoptRevisions := claim(All[*appsv1.ControllerRevision](s), set, kind, set.Spec.Selector, "")
	if actions := slices.Concat(adoptRevisions, adoptPods); len(actions) > 0 {
		return actions
	}
	revisions, actions := newRevisions(s, set, stored)
	if len(actions) > 0 {
		return actions
	}
	o := &ordinals{StatefulSet: set, state: s, pods: pods, revisions: revisions}
	if set.DeletionTimestamp == nil {
		actions = o.next()
	}
	if status := o.status(); !equality.Semantic.DeepEqual(status, set.Status) {
		actions = append(actions, Action{Verb: "update status", Object: changed(set, func(next *appsv1.StatefulSet) { next.Status = status })})
	}
	return append(actions, revisions.trim(pods)...)
}

// ordinals is a StatefulSet and its Pods.
type ordinals struct {
	*appsv1.StatefulSet
	state     State
	pods      []*corev1.Pod
	revisions *revisions
}

// ordinalOf returns the ordinal of a Pod of a StatefulSet, or -1 if its name has none.
func ordinalOf(set string, pod *corev1.Pod) int {
	suffix, ok := strings.CutPrefix(pod.Name, set+"-")
	ordinal, err := strconv.ParseUint(suffix, 10, 31)
	if !ok || err != nil {
		return -1
	}
	return int(ordinal)
}

// start and end are the ordinals of the replicas.
func (o *ordinals) start() int {
	if o.Spec.Ordinals == nil {
		return 0
	}
	return int(o.Spec.Ordinals.Start)
}

func (o *ordinals) end() int { return o.start() + int(*o.Spec.Replicas) }

func (o *ordinals) isParallel() bool {
	return o.Spec.PodManagementPolicy == appsv1.ParallelPodManagement
}

// isCondemned reports whether a Pod is too many.
func (o *ordinals) isCondemned(pod *corev1.Pod) bool {
	ordinal := ordinalOf(o.Name, pod)
	return ordinal < o.start() || ordinal >= o.end()
}

// pod returns the Pod of an ordinal, or nil.
func (o *ordinals) pod(ordinal int) *corev1.Pod {
	i := slices.IndexFunc(o.pods, func(pod *corev1.Pod) bool { return ordinalOf(o.Name, pod) == ordinal })
	if i < 0 {
		return nil
	}
	return o.pods[i]
}

// next returns the next write: for the replicas, then for those that are too many, then for those
// of another revision.
func (o *ordinals) next() []Action {
	var actions []Action
	missing := false
	for ordinal := o.start(); ordinal < o.end(); ordinal++ {
		next, waits := o.replica(ordinal)
		actions, missing = append(actions, next...), missing || o.pod(ordinal) == nil
		if !o.isParallel() && (waits || len(next) > 0) {
			return actions
		}
	}
	if len(actions) > 0 || missing {
		return actions
	}
	if actions, waits := o.scaleDown(); waits || len(actions) > 0 {
		return actions
	}
	return o.replaceOld()
}

// replica returns the next write for the Pod of an ordinal, and reports whether those after it wait
// for it.
func (o *ordinals) replica(ordinal int) (next []Action, waits bool) {
	pod := o.pod(ordinal)
	switch {
	case pod == nil:
		next, waits = o.createClaim(ordinal)
		created := o.newPod(ordinal)
		if len(next) == 0 && !waits && find[*corev1.Pod](o.state, o.Namespace, created.Name) == nil { // or it is not the StatefulSet's
			next = []Action{{Verb: "create", Object: created}}
		}
		return next, true
	case hasEnded(pod) && pod.DeletionTimestamp == nil:
		return []Action{{Verb: "delete", Object: pod}}, true
	case pod.Status.Phase == corev1.PodPending:
		next, _ = o.createClaim(ordinal)
		return next, true
	case !isAvailable(pod):
		return nil, true
	case pod.Labels[appsv1.StatefulSetPodNameLabel] != pod.Name:
		return []Action{{Verb: "update", Object: changed(pod, o.setIdentity)}}, false
	}
	return o.ownClaims(pod), false
}

// isAvailable reports whether a Pod runs, is ready and is not deleted.
func isAvailable(pod *corev1.Pod) bool { return isActive(pod) && isReady(pod) }

// scaleDown returns the next write for the Pods that are too many, the highest ordinal first, and
// reports whether it waits for one of them.
func (o *ordinals) scaleDown() (next []Action, waits bool) {
	condemned := where(o.pods, o.isCondemned)
	for _, pod := range condemned {
		next = append(next, o.ownClaims(pod)...)
	}
	if len(next) > 0 {
		return next, true
	}
	slices.SortFunc(condemned, func(a, b *corev1.Pod) int { return cmp.Compare(ordinalOf(o.Name, b), ordinalOf(o.Name, a)) })
	for i, pod := range condemned {
		unavailableBelow := slices.ContainsFunc(condemned[i+1:], func(other *corev1.Pod) bool { return !isAvailable(other) })
		switch {
		case pod.DeletionTimestamp != nil && o.isParallel():
		case pod.DeletionTimestamp != nil, !o.isParallel() && !isAvailable(pod) && unavailableBelow:
			return next, true
		case o.isParallel():
			next = append(next, Action{Verb: "delete", Object: pod})
		default:
			return []Action{{Verb: "delete", Object: pod}}, true
		}
	}
	return next, false
}

// replaceOld returns the deletion of the Pod of the highest ordinal that has an old revision, if
// all above it are available.
func (o *ordinals) replaceOld() []Action {
	if o.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return nil
	}
	for ordinal := o.end() - 1; ordinal >= o.partition(); ordinal-- {
		pod := o.pod(ordinal)
		switch {
		case pod == nil:
			return nil
		case pod.Labels[appsv1.StatefulSetRevisionLabel] != o.revisions.update.Name && pod.DeletionTimestamp == nil:
			return []Action{{Verb: "delete", Object: pod}}
		case !isAvailable(pod):
			return nil
		}
	}
	return nil
}

// partition returns the lowest ordinal that is updated.
func (o *ordinals) partition() int {
	if rolling := o.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil {
		return o.start() + int(*rolling.Partition)
	}
	return o.start()
}

// newPod returns the Pod of an ordinal.
func (o *ordinals) newPod(ordinal int) *corev1.Pod {
	revision := o.revisions.update
	if ordinal < o.partition() {
		revision = o.revisions.current
	}
	pod := podOf(templateOf(revision), o.StatefulSet, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	pod.Name = fmt.Sprintf("%s-%d", o.Name, ordinal)
	o.setIdentity(pod)
	pod.Labels[appsv1.StatefulSetRevisionLabel] = revision.Name
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, o.Spec.ServiceName
	others := where(pod.Spec.Volumes, func(volume corev1.Volume) bool {
		return !slices.ContainsFunc(o.Spec.VolumeClaimTemplates, func(t corev1.PersistentVolumeClaim) bool { return t.Name == volume.Name })
	})
	pod.Spec.Volumes = nil
	for _, template := range o.Spec.VolumeClaimTemplates {
		source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: template.Name + "-" + pod.Name}}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: template.Name, VolumeSource: source})
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, others...)
	return pod
}

// setIdentity sets the labels that say which Pod of a StatefulSet it is.
func (o *ordinals) setIdentity(pod *corev1.Pod) {
	metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.StatefulSetPodNameLabel, pod.Name)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.PodIndexLabel, strconv.Itoa(ordinalOf(o.Name, pod)))
}

// createClaim returns the write that creates the first claim that an ordinal lacks, and reports
// whether the Pod must wait for the deletion of one.
func (o *ordinals) createClaim(ordinal int) (next []Action, waits bool) {
	pod := fmt.Sprintf("%s-%d", o.Name, ordinal)
	for _, template := range o.Spec.VolumeClaimTemplates {
		claim := find[*corev1.PersistentVolumeClaim](o.state, o.Namespace, template.Name+"-"+pod)
		switch {
		case claim == nil && next == nil:
			created := template.DeepCopy()
			created.Namespace, created.Name = o.Namespace, template.Name+"-"+pod
			for label, value := range o.Spec.Selector.MatchLabels {
				metav1.SetMetaDataLabel(&created.ObjectMeta, label, value)
			}
			setClaimOwner(created, o.claimOwner(nil))
			next = []Action{{Verb: "create", Object: created}}
		case claim == nil:
		case claim.DeletionTimestamp != nil, o.pod(ordinal) == nil && o.retention().WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType && hasOwner(claim, "Pod", pod):
			waits = true
		}
	}
	return next, waits
}

// retention returns what happens to claims whose Pods are gone.
func (o *ordinals) retention() appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy {
	if o.Spec.PersistentVolumeClaimRetentionPolicy == nil {
		return appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{}
	}
	return *o.Spec.PersistentVolumeClaimRetentionPolicy
}

// ownClaims returns the writes that make the claims of a Pod belong to the object with which they
// are to be deleted.
func (o *ordinals) ownClaims(pod *corev1.Pod) []Action {
	var actions []Action
	for _, template := range o.Spec.VolumeClaimTemplates {
		claim := find[*corev1.PersistentVolumeClaim](o.state, o.Namespace, template.Name+"-"+pod.Name)
		if claim == nil || isStale(claim, o.StatefulSet, "StatefulSet") || isStale(claim, pod, "Pod") {
			continue
		}
		owned := changed(claim, func(next *corev1.PersistentVolumeClaim) {
			removeOwner(next, o.StatefulSet)
			removeOwner(next, pod)
			setClaimOwner(next, o.claimOwner(pod))
		})
		if !equality.Semantic.DeepEqual(owned.OwnerReferences, claim.OwnerReferences) {
			actions = append(actions, Action{Verb: "update", Object: owned})
		}
	}
	return actions
}

// claimOwner returns a reference to the object with which the claims of a Pod are deleted, or nil.
// Without a Pod, it is that for a new one.
func (o *ordinals) claimOwner(pod *corev1.Pod) *metav1.OwnerReference {
	policy := o.retention()
	switch {
	case pod != nil && o.isCondemned(pod) && policy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType:
		return metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))
	case policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType:
		return metav1.NewControllerRef(o.StatefulSet, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	}
	return nil
}

func setClaimOwner(claim *corev1.PersistentVolumeClaim, owner *metav1.OwnerReference) {
	if owner != nil {
		claim.OwnerReferences = append(claim.OwnerReferences, *owner)
	}
}

// hasOwner reports whether a claim refers to an owner of a kind and name.
func hasOwner(claim *corev1.PersistentVolumeClaim, kind, name string) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.Kind == kind && ref.Name == name })
}

// isStale reports whether a claim refers to an earlier object of an owner's name.
func isStale(claim *corev1.PersistentVolumeClaim, owner fake.Object, kind string) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool {
		return ref.Kind == kind && ref.Name == owner.GetName() && ref.UID != owner.GetUID()
	})
}

// status returns the status, which counts the Pods.
func (o *ordinals) status() appsv1.StatefulSetStatus {
	current, update := o.revisions.current.Name, o.revisions.update.Name
	has := func(revision string) func(*corev1.Pod) bool {
		return func(pod *corev1.Pod) bool {
			return pod.DeletionTimestamp == nil && pod.Labels[appsv1.StatefulSetRevisionLabel] == revision
		}
	}
	status := appsv1.StatefulSetStatus{
		ObservedGeneration: o.Generation, CollisionCount: new(int32), CurrentRevision: current, UpdateRevision: update,
		Replicas: int32(len(o.pods)), CurrentReplicas: count(o.pods, has(current)), UpdatedReplicas: count(o.pods, has(update)),
		ReadyReplicas: count(o.pods, func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning && isReady(pod) }),
	}
	status.AvailableReplicas = status.ReadyReplicas
	replicas := *o.Spec.Replicas
	if o.Spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType &&
		status.UpdatedReplicas == replicas && status.ReadyReplicas == replicas && status.Replicas == replicas {
		status.CurrentReplicas, status.CurrentRevision = replicas, update
	}
	return status
}
