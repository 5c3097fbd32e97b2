// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
)

// Every object can be selected by these fields.
const (
	name      = "metadata.name"
	namespace = "metadata.namespace"
)

// Of returns the selectable fields of an object. A field is read only when a selector asks for it.
func Of(obj metav1.Object) fields.Fields {
	return objectFields{obj}
}

// Check returns an error if objects of the example's type cannot be selected by a field. An
// unstructured object can be selected by any field, because a CustomResourceDefinition may declare
// any field selectable.
func Check(example runtime.Object, field string) error {
	if _, ok := example.(*unstructured.Unstructured); ok || field == name || field == namespace {
		return nil
	}
	if _, ok := typedField(example, field); ok {
		return nil
	}
	return fmt.Errorf("field label not supported: %s", field)
}

// objectFields implements fields.Fields for an object.
type objectFields struct{ obj metav1.Object }

// Has implements fields.Fields.
func (v objectFields) Has(field string) bool {
	return v.Get(field) != ""
}

// Get implements fields.Fields.
func (v objectFields) Get(field string) string {
	switch field {
	case name:
		return v.obj.GetName()
	case namespace:
		return v.obj.GetNamespace()
	}
	if u, ok := v.obj.(*unstructured.Unstructured); ok {
		return nestedField(u, field)
	}
	value, _ := typedField(v.obj, field)
	return value
}

// nestedField returns the field at a dotted path. It formats numbers and booleans as text, as the
// real server does.
func nestedField(u *unstructured.Unstructured, field string) string {
	value, found, err := unstructured.NestedFieldNoCopy(u.Object, strings.Split(field, ".")...)
	if err != nil || !found {
		return ""
	}
	switch value := value.(type) {
	case string:
		return value
	case bool, int64, float64:
		return fmt.Sprint(value)
	default:
		return ""
	}
}

// typedField returns a selectable field of a typed object other than its name and namespace. It
// reports whether objects of that type have the field.
func typedField(obj any, field string) (string, bool) {
	switch obj := obj.(type) {
	case *corev1.Pod:
		return podField(obj, field)
	case *corev1.Node:
		return nodeField(obj, field)
	case *corev1.Namespace:
		return namespaceField(obj, field)
	case *corev1.Secret:
		return secretField(obj, field)
	case *corev1.Service:
		return serviceField(obj, field)
	case *corev1.Event:
		return eventField(obj, field)
	}
	return "", false
}

func podField(p *corev1.Pod, field string) (string, bool) {
	switch field {
	case "spec.nodeName":
		return p.Spec.NodeName, true
	case "spec.restartPolicy":
		return string(p.Spec.RestartPolicy), true
	case "spec.schedulerName":
		return p.Spec.SchedulerName, true
	case "spec.serviceAccountName":
		return p.Spec.ServiceAccountName, true
	case "spec.hostNetwork":
		return strconv.FormatBool(p.Spec.HostNetwork), true
	case "status.phase":
		return string(p.Status.Phase), true
	case "status.podIP":
		return p.Status.PodIP, true
	case "status.nominatedNodeName":
		return p.Status.NominatedNodeName, true
	}
	return "", false
}

func nodeField(n *corev1.Node, field string) (string, bool) {
	switch field {
	case "spec.unschedulable":
		return strconv.FormatBool(n.Spec.Unschedulable), true
	}
	return "", false
}

func namespaceField(n *corev1.Namespace, field string) (string, bool) {
	switch field {
	case "status.phase":
		return string(n.Status.Phase), true
	}
	return "", false
}

func secretField(s *corev1.Secret, field string) (string, bool) {
	switch field {
	case "type":
		return string(s.Type), true
	}
	return "", false
}

func serviceField(s *corev1.Service, field string) (string, bool) {
	switch field {
	case "spec.clusterIP":
		return s.Spec.ClusterIP, true
	case "spec.type":
		return string(s.Spec.Type), true
	}
	return "", false
}

func eventField(e *corev1.Event, field string) (string, bool) {
	switch field {
	case "involvedObject.kind":
		return e.InvolvedObject.Kind, true
	case "involvedObject.namespace":
		return e.InvolvedObject.Namespace, true
	case "involvedObject.name":
		return e.InvolvedObject.Name, true
	case "involvedObject.uid":
		return string(e.InvolvedObject.UID), true
	case "involvedObject.apiVersion":
		return e.InvolvedObject.APIVersion, true
	case "involvedObject.resourceVersion":
		return e.InvolvedObject.ResourceVersion, true
	case "involvedObject.fieldPath":
		return e.InvolvedObject.FieldPath, true
	case "reason":
		return e.Reason, true
	case "reportingComponent":
		return e.ReportingController, true
	case "source":
		return e.Source.Component, true
	case "type":
		return e.Type, true
	}
	return "", false
}
