// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// WithLabelSelector selects objects by their labels, on the server. An object that the selector no
// longer matches is delivered as a deletion.
func WithLabelSelector(selector labels.Selector) func(options *metav1.ListOptions) {
	return func(options *metav1.ListOptions) { options.LabelSelector = selector.String() }
}

// WithFieldSelector selects objects by their fields, on the server. An object that the selector no
// longer matches is delivered as a deletion. Each resource supports few fields; for others the
// server refuses the list. See
// https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/.
func WithFieldSelector(selector fields.Selector) func(options *metav1.ListOptions) {
	return func(options *metav1.ListOptions) { options.FieldSelector = selector.String() }
}

// selected is which objects a ListWatch lists. The zero value is unknown.
type selected struct {
	known     bool   // including the namespace
	resource  string // empty if the type of the objects determines it
	namespace string
	modify    []func(options *metav1.ListOptions)
	// byNamespace states that requests use the path of a scope's namespace. Otherwise the namespace
	// is a field selector.
	byNamespace bool
}

// apply sets the selectors in the options of a request, which may be that of a scope.
func (s selected) apply(ctx context.Context, options *metav1.ListOptions) {
	for _, modify := range s.modify {
		modify(options)
	}
	scope.RequestOf(ctx).Apply(options, !s.byNamespace)
	feed.RestrictProbe(ctx, options)
}

// check returns ErrNotSelected for an object that is known not to be selected.
func (s selected) check(obj metav1.Object) error {
	if s.namespace != "" && obj.GetNamespace() != s.namespace {
		return fmt.Errorf("%w: it lists namespace %q", ErrNotSelected, s.namespace)
	}
	var options metav1.ListOptions
	s.apply(context.Background(), &options)
	if selector, err := labels.Parse(options.LabelSelector); err == nil && !selector.Matches(labels.Set(obj.GetLabels())) {
		return fmt.Errorf("%w: its label selector is %q", ErrNotSelected, options.LabelSelector)
	}
	if selector, err := fields.ParseSelector(options.FieldSelector); err == nil && !mayMatch(selector, obj) {
		return fmt.Errorf("%w: its field selector is %q", ErrNotSelected, options.FieldSelector)
	}
	return nil
}

// mayMatch reports whether a field selector may select an object. Which fields a selector may name
// depends on the resource; nearly all are paths in the object, and others are taken to match.
func mayMatch(selector fields.Selector, obj metav1.Object) bool {
	return !slices.ContainsFunc(selector.Requirements(), func(r fields.Requirement) bool {
		value, known := fieldValue(obj, r.Field)
		return known && (value == r.Value) != (r.Operator != selection.NotEquals)
	})
}

// fieldValue returns the value of a scalar field by its path.
func fieldValue(obj metav1.Object, path string) (value string, known bool) {
	switch path {
	case metav1.ObjectNameField:
		return obj.GetName(), true
	case "metadata.namespace":
		return obj.GetNamespace(), true
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return "", false
	}
	found, ok, err := unstructured.NestedFieldNoCopy(content, strings.Split(path, ".")...)
	if !ok || err != nil { // omitted, which stands for empty, false or zero
		return "", false
	}
	switch found.(type) {
	case string, bool, int64:
		return fmt.Sprint(found), true
	}
	return "", false
}
