// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/kinformer/kinformer/fake/internal/defaults"
	"github.com/kinformer/kinformer/fake/internal/history"
)

// setNewDefaults sets the defaults of a new object, and the fields that the server assigns with
// regard to other objects.
func (s *Store) setNewDefaults(obj history.Object) {
	if pod, ok := obj.(*corev1.Pod); ok {
		s.setPriority(pod)
	}
	defaults.SetNew(obj)
	if service, ok := obj.(*corev1.Service); ok {
		s.registry.services.assign(service)
	}
}

// keepDefaults sets the fields of an updated object that the server has assigned and that next
// lacks.
func (s *Store) keepDefaults(next, current history.Object) {
	defaults.Keep(next, current)
	if service, ok := next.(*corev1.Service); ok {
		s.registry.services.keep(service, current.(*corev1.Service))
	}
}

// setPriority sets the priority of a Pod to that of its PriorityClass, if there is one. Other than
// on a real server, the class need not exist.
func (s *Store) setPriority(pod *corev1.Pod) {
	classes := s.registry.ForResource(schedulingv1.SchemeGroupVersion.WithResource("priorityclasses"))
	if pod.Spec.PriorityClassName == "" || classes == nil {
		return
	}
	found, ok := classes.objects.Get(pod.Spec.PriorityClassName)
	if !ok {
		return
	}
	class := found.(*schedulingv1.PriorityClass)
	if pod.Spec.Priority == nil {
		pod.Spec.Priority = &class.Value
	}
	if pod.Spec.PreemptionPolicy == nil {
		pod.Spec.PreemptionPolicy = class.PreemptionPolicy
	}
}
