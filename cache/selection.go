// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// ErrOutOfScope is wrapped by the error of WaitForObject for an object that the informer never
// stores: it is in another namespace, or a selector or the Filter refuses it. With Scopes, the errors
// of WaitForObject and WaitForDelete for an object of no scope wrap it, and ErrNoScope.
var ErrOutOfScope = errors.New("the object is outside of the informer's scope")

// selected is which objects a ListWatch lists. The zero value is unknown.
type selected struct {
	known     bool   // including the namespace
	resource  string // empty if the type of the objects determines it
	namespace string
	modify    []ListOptionsFunc
	// byNamespace states that requests use the path of a scope's namespace. Otherwise the namespace is
	// a field selector.
	byNamespace bool
}

// selectionOf returns the selection of a ListerWatcher.
func selectionOf(lw ListerWatcher) selected {
	if known, ok := lw.(*ListWatch); ok && known != nil {
		return known.selected
	}
	return selected{}
}

// apply sets the selectors in the options of a request, which may be that of a scope.
func (s selected) apply(ctx context.Context, options *metav1.ListOptions) {
	for _, modify := range s.modify {
		modify(options)
	}
	scope.RequestOf(ctx).Apply(options, !s.byNamespace)
	feed.RestrictProbe(ctx, options)
}

// check returns ErrOutOfScope for an object that is known not to be selected.
func (s selected) check(obj metav1.Object) error {
	if s.namespace != "" && obj.GetNamespace() != s.namespace {
		return fmt.Errorf("%w: it lists namespace %q", ErrOutOfScope, s.namespace)
	}
	var options metav1.ListOptions
	s.apply(context.Background(), &options)
	if selector, err := labels.Parse(options.LabelSelector); err == nil && !selector.Matches(labels.Set(obj.GetLabels())) {
		return fmt.Errorf("%w: its label selector is %q", ErrOutOfScope, options.LabelSelector)
	}
	if selector, err := fields.ParseSelector(options.FieldSelector); err == nil && !mayMatch(selector, obj) {
		return fmt.Errorf("%w: its field selector is %q", ErrOutOfScope, options.FieldSelector)
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

// informerKey identifies an informer of a Factory: the type of its objects and their selection.
type informerKey struct {
	objects                   reflect.Type
	kind, resource, namespace string
	options                   string // of each request: selectors
	labels, fields            string // these selectors, for errors
}

// String describes the key for errors.
func (k informerKey) String() string {
	text := k.objects.String() + k.kind
	if k.namespace != "" {
		text += fmt.Sprintf(" in namespace %q", k.namespace)
	}
	if k.labels != "" {
		text += fmt.Sprintf(", with label selector %q", k.labels)
	}
	if k.fields != "" {
		text += fmt.Sprintf(", with field selector %q", k.fields)
	}
	return text
}

var (
	errUnknownSelection = errors.New("the objects that the ListWatch selects are not known: use ListWatchOf or NewListWatchFromClient")
	errUnknownNamespace = errors.New("the client does not declare its namespace: call InNamespace on the ListWatch")
	errUnknownKind      = errors.New("the kind of the objects is not known: set apiVersion and kind of the example")
)

// keyOfInformer returns the key of an informer of the objects that lw selects.
func keyOfInformer[T Object](lw *ListWatch, example T) (informerKey, error) {
	objects, err := objectType(example)
	if err == nil {
		err = checkListerWatcher(lw, objects)
	}
	switch {
	case err != nil:
		return informerKey{}, err
	case !lw.selected.known && lw.items == nil:
		return informerKey{}, errUnknownSelection
	case !lw.selected.known:
		return informerKey{}, errUnknownNamespace
	}
	kind := ""
	if objects.IsUnstructured() || objects.IsMetadata() { // the Go type does not tell collections apart
		var gvk schema.GroupVersionKind
		if !codec.IsNil(example) {
			gvk = example.GetObjectKind().GroupVersionKind()
		}
		if gvk.Empty() && lw.selected.resource == "" {
			return informerKey{}, errUnknownKind
		}
		kind = " of " + gvk.String()
	}
	var options metav1.ListOptions
	lw.selected.apply(context.Background(), &options)
	return informerKey{
		objects: objects.GoType, kind: kind, resource: lw.selected.resource, namespace: lw.selected.namespace,
		options: options.String(), labels: options.LabelSelector, fields: options.FieldSelector,
	}, nil
}
