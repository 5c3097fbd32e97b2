// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// Bind binds a Pod to a node. It adds the labels and annotations of the Binding to the Pod and sets
// the condition PodScheduled to true. A Pod can be bound only once. The node need not exist. A
// Binding is created, so the Namespace must not be one that is being deleted.
func (s *Store) Bind(namespace, name string, binding *corev1.Binding, mode Mode) error {
	if err := s.checkNamespaceActive(namespace, name); err != nil {
		return err
	}
	if binding.Name != name {
		return apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	if err := checkBinding(binding); err != nil {
		return err
	}
	_, err := s.apply(history.Key(namespace, name), mode, func(current history.Object) (history.Object, error) {
		if current == nil {
			return nil, s.notFound(name)
		}
		if binding.UID != "" && binding.UID != current.GetUID() {
			return nil, s.conflict(current, "Precondition failed: UID in precondition: %v, UID in object meta: %v", binding.UID, current.GetUID())
		}
		if version := binding.ResourceVersion; version != "" && version != current.GetResourceVersion() {
			return nil, s.conflict(current, "Precondition failed: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v",
				version, current.GetResourceVersion())
		}
		pod := current.(*corev1.Pod)
		if err := checkBindable(pod); err != nil {
			return nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, name, err)
		}
		return boundPod(pod, binding), nil
	})
	return err
}

func checkBinding(binding *corev1.Binding) error {
	var errs field.ErrorList
	target := field.NewPath("target")
	if kind := binding.Target.Kind; kind != "" && kind != "Node" {
		errs = append(errs, field.NotSupported(target.Child("kind"), kind, []string{"Node", "<empty>"}))
	}
	if binding.Target.Name == "" {
		errs = append(errs, field.Required(target.Child("name"), ""))
	}
	if len(errs) == 0 {
		return nil
	}
	return errs.ToAggregate() // 500, as from the real server
}

func checkBindable(pod *corev1.Pod) error {
	switch {
	case pod.DeletionTimestamp != nil:
		return fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "":
		return fmt.Errorf("pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return errors.New("pod " + pod.Name + " has non-empty .spec.schedulingGates")
	}
	return nil
}

func boundPod(pod *corev1.Pod, binding *corev1.Binding) *corev1.Pod {
	next := pod.DeepCopy()
	next.Spec.NodeName = binding.Target.Name
	next.Status.NominatedNodeName = ""
	next.Annotations = mergeMaps(next.Annotations, binding.Annotations)
	next.Labels = mergeMaps(next.Labels, binding.Labels)
	for i, c := range next.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			if c.Status != corev1.ConditionTrue {
				next.Status.Conditions[i] = corev1.PodCondition{Type: c.Type, Status: corev1.ConditionTrue, LastTransitionTime: now()}
			}
			return next
		}
	}
	next.Status.Conditions = append(next.Status.Conditions,
		corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now()})
	return next
}

func mergeMaps(into, from map[string]string) map[string]string {
	if len(from) == 0 {
		return into
	}
	if into == nil {
		into = map[string]string{}
	}
	maps.Copy(into, from)
	return into
}
