// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/fake"
)

// ControlStatefulSets creates the Pods and claims of StatefulSets, in order, replaces Pods of an older template, deletes
// those that are too many, and writes the status.
func ControlStatefulSets(s State) []Action {
	var actions []Action
	for _, set := range All[*appsv1.StatefulSet](s) {
		if set.DeletionTimestamp == nil {
			actions = append(actions, controlStatefulSet(s, set)...)
		}
	}
	return actions
}

func controlStatefulSet(s State, set *appsv1.StatefulSet) []Action {
	status := appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, UpdateRevision: revisionOf(set)}
	var first *Action
	next := func(verb string, obj fake.Object) {
		if first == nil {
			first = &Action{Verb: verb, Object: obj}
		}
	}
	for i := range *set.Spec.Replicas {
		name := fmt.Sprintf("%s-%d", set.Name, i)
		pod := find[*corev1.Pod](s, set.Namespace, name)
		switch {
		case pod == nil:
			createClaims(s, set, name, next)
			next("create", newPod(set, name))
		case metav1.GetControllerOf(pod) == nil:
			adopted := pod.DeepCopy()
			adopted.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
			next("update", adopted)
		case pod.Labels[appsv1.StatefulSetRevisionLabel] != status.UpdateRevision:
			next("delete", pod)
		}
		countPod(&status, pod)
	}
	for _, pod := range All[*corev1.Pod](s) {
		if ordinal, owned := ordinalOf(set, pod); owned && ordinal >= int64(*set.Spec.Replicas) {
			next("delete", pod)
		}
	}
	status.CurrentRevision = set.Status.CurrentRevision
	if status.CurrentRevision == "" || status.UpdatedReplicas == *set.Spec.Replicas {
		status.CurrentRevision = status.UpdateRevision
	}
	var actions []Action
	if first != nil {
		actions = append(actions, *first)
	}
	if !equality.Semantic.DeepEqual(status, set.Status) {
		changed := set.DeepCopy()
		changed.Status = status
		actions = append(actions, Action{Verb: "update status", Object: changed})
	}
	return actions
}

func countPod(status *appsv1.StatefulSetStatus, pod *corev1.Pod) {
	if pod == nil {
		return
	}
	status.Replicas++
	if pod.Labels[appsv1.StatefulSetRevisionLabel] == status.UpdateRevision {
		status.UpdatedReplicas++
	}
	if pod.Status.Phase == corev1.PodRunning {
		status.ReadyReplicas++
		status.AvailableReplicas++
	}
}

func createClaims(s State, set *appsv1.StatefulSet, pod string, next func(string, fake.Object)) {
	for _, template := range set.Spec.VolumeClaimTemplates {
		name := template.Name + "-" + pod
		if find[*corev1.PersistentVolumeClaim](s, set.Namespace, name) == nil {
			claim := template.DeepCopy()
			claim.ObjectMeta = metav1.ObjectMeta{Namespace: set.Namespace, Name: name, Labels: set.Spec.Selector.MatchLabels, OwnerReferences: template.OwnerReferences, Finalizers: []string{claimProtection}}
			claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}
			next("create", claim)
		}
	}
}

func newPod(set *appsv1.StatefulSet, name string) *corev1.Pod {
	template := set.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = set.Namespace, name
	for _, claim := range set.Spec.VolumeClaimTemplates {
		source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name + "-" + name}}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim.Name, VolumeSource: source})
	}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[appsv1.StatefulSetRevisionLabel] = revisionOf(set)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
	return pod
}

// revisionOf returns a name for the template of a StatefulSet.
func revisionOf(set *appsv1.StatefulSet) string {
	template, err := set.Spec.Template.Marshal()
	if err != nil {
		panic(err) // of an object that was decoded
	}
	hash := fnv.New32a()
	_, _ = hash.Write(template) // never fails
	return fmt.Sprintf("%s-%d", set.Name, hash.Sum32())
}

func ordinalOf(set *appsv1.StatefulSet, pod *corev1.Pod) (int64, bool) {
	suffix, ok := strings.CutPrefix(pod.Name, set.Name+"-")
	ordinal, err := strconv.ParseInt(suffix, 10, 64)
	return ordinal, ok && err == nil && pod.Namespace == set.Namespace
}
