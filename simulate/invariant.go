// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ClaimsInUseAreKept is an invariant: it returns an error for a write that deletes a PersistentVolumeClaim of
// which a Pod that exists has a volume.
func ClaimsInUseAreKept(w Write) error {
	if w.Verb != "delete" || w.Resource.Resource != "persistentvolumeclaims" {
		return nil
	}
	for _, pod := range All[*corev1.Pod](w.Before) {
		for _, volume := range pod.Spec.Volumes {
			if claim := volume.PersistentVolumeClaim; claim != nil && pod.Namespace == w.Namespace && claim.ClaimName == w.Name {
				return fmt.Errorf("volume %s of Pod %s/%s uses the claim", volume.Name, pod.Namespace, pod.Name)
			}
		}
	}
	return nil
}

// ControllersExist is an invariant: it returns an error for a write that creates an object whose controller, by
// its owner references, is being deleted or does not exist: work on a stale cache, which the garbage collector has to undo.
func ControllersExist(w Write) error {
	if w.Verb != "create" {
		return nil
	}
	before := map[types.UID]metav1.Object{}
	for _, obj := range w.Before.objects {
		before[obj.GetUID()] = obj
	}
	for _, obj := range w.After.objects {
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
