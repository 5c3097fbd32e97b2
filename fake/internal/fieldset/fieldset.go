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

// The fields that every object has.
const (
	name      = "metadata.name"
	namespace = "metadata.namespace"
)

// Of returns the fields of an object, read when asked for: most objects are never asked.
func Of(obj metav1.Object) fields.Fields {
	return view{obj}
}

// Check returns an error if objects of the example's type cannot be selected by a field. An unstructured object can be by any: a
// CustomResourceDefinition may name any field as selectable.
func Check(example runtime.Object, field string) error {
	if _, ok := example.(*unstructured.Unstructured); ok || field == name || field == namespace {
		return nil
	}
	if _, ok := known(example)[field]; ok {
		return nil
	}
	return fmt.Errorf("field label not supported: %s", field)
}

// view implements fields.Fields on an object.
type view struct{ obj metav1.Object }

// Has implements fields.Fields.
func (v view) Has(field string) bool {
	return v.Get(field) != ""
}

// Get implements fields.Fields.
func (v view) Get(field string) string {
	switch field {
	case name:
		return v.obj.GetName()
	case namespace:
		return v.obj.GetNamespace()
	}
	if u, ok := v.obj.(*unstructured.Unstructured); ok {
		return nested(u, field)
	}
	obj, ok := v.obj.(runtime.Object)
	if !ok {
		return ""
	}
	if get, ok := known(obj)[field]; ok {
		return get(obj)
	}
	return ""
}

// nested reads a dotted path; a number or a boolean is written as text, as the real server does.
func nested(u *unstructured.Unstructured, field string) string {
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

// getter reads one field of the type that its table is for.
type getter func(runtime.Object) string

// known returns the selectable fields of a type, beyond name and namespace.
func known(obj runtime.Object) map[string]getter {
	switch obj.(type) {
	case *corev1.Pod:
		return podFields
	case *corev1.Node:
		return nodeFields
	case *corev1.Namespace:
		return namespaceFields
	case *corev1.Secret:
		return secretFields
	case *corev1.Service:
		return serviceFields
	case *corev1.Event:
		return eventFields
	default:
		return nil
	}
}

var podFields = map[string]getter{
	"spec.nodeName":            of(func(p *corev1.Pod) string { return p.Spec.NodeName }),
	"spec.restartPolicy":       of(func(p *corev1.Pod) string { return string(p.Spec.RestartPolicy) }),
	"spec.schedulerName":       of(func(p *corev1.Pod) string { return p.Spec.SchedulerName }),
	"spec.serviceAccountName":  of(func(p *corev1.Pod) string { return p.Spec.ServiceAccountName }),
	"spec.hostNetwork":         of(func(p *corev1.Pod) string { return strconv.FormatBool(p.Spec.HostNetwork) }),
	"status.phase":             of(func(p *corev1.Pod) string { return string(p.Status.Phase) }),
	"status.podIP":             of(func(p *corev1.Pod) string { return p.Status.PodIP }),
	"status.nominatedNodeName": of(func(p *corev1.Pod) string { return p.Status.NominatedNodeName }),
}

var nodeFields = map[string]getter{
	"spec.unschedulable": of(func(n *corev1.Node) string { return strconv.FormatBool(n.Spec.Unschedulable) }),
}

var namespaceFields = map[string]getter{
	"status.phase": of(func(n *corev1.Namespace) string { return string(n.Status.Phase) }),
}

var secretFields = map[string]getter{
	"type": of(func(s *corev1.Secret) string { return string(s.Type) }),
}

var serviceFields = map[string]getter{
	"spec.clusterIP": of(func(s *corev1.Service) string { return s.Spec.ClusterIP }),
	"spec.type":      of(func(s *corev1.Service) string { return string(s.Spec.Type) }),
}

var eventFields = map[string]getter{
	"involvedObject.kind":            of(func(e *corev1.Event) string { return e.InvolvedObject.Kind }),
	"involvedObject.namespace":       of(func(e *corev1.Event) string { return e.InvolvedObject.Namespace }),
	"involvedObject.name":            of(func(e *corev1.Event) string { return e.InvolvedObject.Name }),
	"involvedObject.uid":             of(func(e *corev1.Event) string { return string(e.InvolvedObject.UID) }),
	"involvedObject.apiVersion":      of(func(e *corev1.Event) string { return e.InvolvedObject.APIVersion }),
	"involvedObject.resourceVersion": of(func(e *corev1.Event) string { return e.InvolvedObject.ResourceVersion }),
	"involvedObject.fieldPath":       of(func(e *corev1.Event) string { return e.InvolvedObject.FieldPath }),
	"reason":                         of(func(e *corev1.Event) string { return e.Reason }),
	"reportingComponent":             of(func(e *corev1.Event) string { return e.ReportingController }),
	"source":                         of(func(e *corev1.Event) string { return e.Source.Component }),
	"type":                           of(func(e *corev1.Event) string { return e.Type }),
}

// of makes a getter of a function on one type.
func of[T runtime.Object](get func(T) string) getter {
	return func(obj runtime.Object) string { return get(obj.(T)) }
}
