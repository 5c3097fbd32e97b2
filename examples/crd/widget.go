// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var widgetVersion = schema.GroupVersion{Group: "example.com", Version: "v1"} //nolint:gochecknoglobals // a struct cannot be constant

// Widget is a custom resource. In a larger project, controller-gen writes the DeepCopy functions
// and the CustomResourceDefinition.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   WidgetSpec   `json:"spec"`
	Status WidgetStatus `json:"status,omitzero"`
}

// WidgetSpec is what a user wants of a Widget.
type WidgetSpec struct {
	Color string `json:"color"`
	Size  int    `json:"size"`
}

// WidgetStatus is what the controller has done.
type WidgetStatus struct {
	Painted string `json:"painted,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (w *Widget) DeepCopyObject() runtime.Object {
	if w == nil {
		return nil
	}
	copied := &Widget{TypeMeta: w.TypeMeta, Spec: w.Spec, Status: w.Status}
	w.DeepCopyInto(&copied.ObjectMeta)
	return copied
}

// WidgetList is a list of Widgets.
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Widget `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *WidgetList) DeepCopyObject() runtime.Object {
	if l == nil {
		return nil
	}
	copied := &WidgetList{TypeMeta: l.TypeMeta, Items: make([]Widget, len(l.Items))}
	l.DeepCopyInto(&copied.ListMeta)
	for i := range l.Items {
		copied.Items[i] = *l.Items[i].DeepCopyObject().(*Widget)
	}
	return copied
}

// newScheme returns a scheme that knows Widgets.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(widgetVersion, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme, widgetVersion)
	return scheme
}
