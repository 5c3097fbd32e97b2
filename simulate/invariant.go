// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ClaimsInUseAreKept is an invariant: it returns an error for a write that removes a
// PersistentVolumeClaim that is used by a Pod that has not ended. A claim with a finalizer still
// exists.
func ClaimsInUseAreKept(w Write) error {
	kept := map[types.UID]bool{}
	for _, claim := range All[*corev1.PersistentVolumeClaim](w.After) {
		kept[claim.UID] = true
	}
	for _, claim := range All[*corev1.PersistentVolumeClaim](w.Before) {
		if kept[claim.UID] {
			continue
		}
		for _, pod := range All[*corev1.Pod](w.Before) {
			if volume := volumeOf(pod, claim); volume != "" {
				return fmt.Errorf("claim %s/%s is deleted, and volume %s of Pod %s uses it", claim.Namespace, claim.Name, volume, pod.Name)
			}
		}
	}
	return nil
}

// volumeOf returns the name of the volume of a Pod that has not ended which a claim is used for, or
// "".
func volumeOf(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) string {
	if pod.Namespace != claim.Namespace || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return ""
	}
	for _, volume := range pod.Spec.Volumes {
		if source := volume.PersistentVolumeClaim; source != nil && source.ClaimName == claim.Name {
			return volume.Name
		}
	}
	return ""
}

// ControllersExist is an invariant: it returns an error for a write that creates an object whose
// controller, by its owner references, is being deleted or does not exist: work on a stale cache,
// which the garbage collector has to undo.
func ControllersExist(w Write) error {
	if w.Verb != "create" {
		return nil
	}
	before := map[types.UID]metav1.Object{}
	for _, obj := range w.Before.cluster.Objects {
		before[obj.GetUID()] = obj
	}
	for _, obj := range w.After.cluster.Objects {
		controller := metav1.GetControllerOfNoCopy(obj)
		if _, existed := before[obj.GetUID()]; existed || controller == nil {
			continue
		}
		if owner := before[controller.UID]; owner == nil || owner.GetDeletionTimestamp() != nil {
			return fmt.Errorf("the controller of %s/%s, %s %s, is being deleted or does not exist", obj.GetNamespace(), obj.GetName(), controller.Kind, controller.Name)
		}
	}
	return nil
}
