// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// has reports whether a state has an object of a Go type and a name.
func has[T fake.Object](s simulate.State, name string) bool {
	for _, obj := range simulate.All[T](s) {
		if obj.GetName() == name {
			return true
		}
	}
	return false
}

// kubeletFinalizer keeps a Pod of a StatefulSet until the kubelet has stopped it.
const kubeletFinalizer = "example.com/kubelet"

// statefulSets makes the Pods and claims of StatefulSets, in order, and deletes the Pods that are
// too many. Pods without a StatefulSet stay, as after a deletion that orphans them.
func statefulSets(s simulate.State) []simulate.Action {
	var actions []simulate.Action
	for _, set := range simulate.All[*appsv1.StatefulSet](s) {
		if set.DeletionTimestamp != nil {
			continue
		}
		for i := range int64(*set.Spec.Replicas) {
			if missing := missingOf(s, set, ordinal(set.Name, i)); missing != nil {
				actions = append(actions, simulate.Action{Verb: "create", Object: missing})
				break
			}
		}
		for _, pod := range simulate.All[*corev1.Pod](s) {
			i, ok := ordinalOf(set.Name, pod.Name)
			switch {
			case !ok || pod.DeletionTimestamp != nil:
			case i >= int64(*set.Spec.Replicas):
				actions = append(actions, simulate.Action{Verb: "delete", Object: pod})
			case metav1.GetControllerOf(pod) == nil:
				adopted := pod.DeepCopy()
				adopted.OwnerReferences = ownedBy(set)
				actions = append(actions, simulate.Action{Verb: "update", Object: adopted})
			}
		}
	}
	return actions
}

// missingOf returns the next object that a Pod of a StatefulSet needs: a claim, or the Pod itself.
func missingOf(s simulate.State, set *appsv1.StatefulSet, name string) fake.Object {
	if has[*corev1.Pod](s, name) {
		return nil
	}
	for _, template := range set.Spec.VolumeClaimTemplates {
		if claim := template.Name + "-" + name; !has[*corev1.PersistentVolumeClaim](s, claim) {
			return newClaim(claim, sizeOf(template.Spec))
		}
	}
	pod := newPod(name)
	pod.Labels = set.Spec.Template.Labels
	pod.Finalizers = []string{kubeletFinalizer}
	pod.OwnerReferences = ownedBy(set)
	return pod
}

func ownedBy(set *appsv1.StatefulSet) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
}

func ordinalOf(set, pod string) (int64, bool) {
	suffix, ok := strings.CutPrefix(pod, set+"-")
	i, err := strconv.ParseInt(suffix, 10, 64)
	return i, ok && err == nil
}

// kubelet starts and stops Pods. The message in a Pod's status is the configuration that it has
// loaded, if there is a Secret with one.
func kubelet(s simulate.State) []simulate.Action {
	config := ""
	for _, secret := range simulate.All[*corev1.Secret](s) {
		config = fmt.Sprintf("loaded %s", secret.Data["config"])
	}
	var actions []simulate.Action
	for _, pod := range simulate.All[*corev1.Pod](s) {
		next := pod.DeepCopy()
		switch {
		case pod.DeletionTimestamp != nil:
			next.Finalizers = nil
			actions = append(actions, simulate.Action{Verb: "update", Object: next})
		case pod.Status.Phase != corev1.PodRunning:
			next.Status.Phase, next.Status.Message = corev1.PodRunning, config
			actions = append(actions, simulate.Action{Verb: "update status", Object: next})
		}
	}
	return actions
}

// garbageCollector deletes the objects whose owner does not exist. If a deletion orphans them, it
// removes the owner reference first.
func garbageCollector(s simulate.State) []simulate.Action {
	var actions []simulate.Action
	for _, obj := range simulate.All[fake.Object](s) {
		owner := metav1.GetControllerOf(obj)
		if owner != nil && obj.GetDeletionTimestamp() == nil && !exists(s, owner.UID) {
			actions = append(actions, simulate.Action{Verb: "delete", Object: obj})
		}
		if obj.GetDeletionTimestamp() != nil && slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents) {
			actions = append(actions, orphan(s, obj))
		}
	}
	return actions
}

func exists(s simulate.State, uid types.UID) bool {
	return slices.ContainsFunc(simulate.All[fake.Object](s), func(obj fake.Object) bool { return obj.GetUID() == uid })
}

// orphan returns the next write of a deletion that orphans what the owner has.
func orphan(s simulate.State, owner fake.Object) simulate.Action {
	for _, obj := range simulate.All[fake.Object](s) {
		if metav1.IsControlledBy(obj, owner) {
			next := obj.DeepCopyObject().(fake.Object)
			next.SetOwnerReferences(nil)
			return simulate.Action{Verb: "update", Object: next}
		}
	}
	next := owner.DeepCopyObject().(fake.Object)
	next.SetFinalizers(nil)
	return simulate.Action{Verb: "update", Object: next}
}
