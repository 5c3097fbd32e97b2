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

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// actorFunc is an Actor.
type actorFunc func(simulate.State) []simulate.Action

// Actions implements simulate.Actor.
func (f actorFunc) Actions(s simulate.State) []simulate.Action { return f(s) }

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
		for i := range int64(*set.Spec.Replicas) {
			if missing := missingOf(s, set, ordinal(set.Name, i)); missing != nil {
				actions = append(actions, simulate.Action{Verb: "create", Object: missing})
				break
			}
		}
		for _, pod := range simulate.All[*corev1.Pod](s) {
			if i, ok := ordinalOf(set.Name, pod.Name); ok && i >= int64(*set.Spec.Replicas) && pod.DeletionTimestamp == nil {
				actions = append(actions, simulate.Action{Verb: "delete", Object: pod})
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
	return pod
}

func ordinalOf(set, pod string) (int64, bool) {
	suffix, ok := strings.CutPrefix(pod, set+"-")
	i, err := strconv.ParseInt(suffix, 10, 64)
	return i, ok && err == nil
}

// kubelet starts and stops Pods. The message in a Pod's status is the configuration that it has loaded, if
// there is a Secret with one.
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

// garbageCollector lets objects go whose deletion orphans what they own.
func garbageCollector(s simulate.State) []simulate.Action {
	var actions []simulate.Action
	for _, obj := range simulate.All[fake.Object](s) {
		if obj.GetDeletionTimestamp() == nil || !slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents) {
			continue
		}
		next := obj.DeepCopyObject().(fake.Object)
		next.SetFinalizers(slices.DeleteFunc(next.GetFinalizers(), func(f string) bool { return f == metav1.FinalizerOrphanDependents }))
		actions = append(actions, simulate.Action{Verb: "update", Object: next})
	}
	return actions
}
