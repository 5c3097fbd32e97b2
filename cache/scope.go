package cache

import (
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
	"k8s.io/apimachinery/pkg/selection"
)

// ErrOutOfScope is returned for an object that an informer does not hold, whatever its
// version: of another namespace, or refused by a selector or the Filter.
var ErrOutOfScope = errors.New("the object is outside of the informer's scope")

// scope is which objects a ListWatch lists, as far as that is known. The zero value knows
// nothing.
type scope struct {
	namespace string
	modify    []ListOptionsFunc
}

// scopeOf returns the scope of a ListerWatcher.
func scopeOf(lw ListerWatcher) scope {
	if known, ok := lw.(*ListWatch); ok && known != nil {
		return known.scope
	}
	return scope{}
}

// apply puts what selects into the options of a request.
func (s scope) apply(options *metav1.ListOptions) {
	for _, change := range s.modify {
		change(options)
	}
}

// check returns an error if an object is known to be outside. Where that cannot be told,
// it is taken to be inside.
func (s scope) check(obj Object) error {
	if s.namespace != "" && obj.GetNamespace() != s.namespace {
		return fmt.Errorf("%w: it lists namespace %q", ErrOutOfScope, s.namespace)
	}
	var options metav1.ListOptions
	s.apply(&options)
	if selector, err := labels.Parse(options.LabelSelector); err == nil && !selector.Matches(labels.Set(obj.GetLabels())) {
		return fmt.Errorf("%w: its label selector is %q", ErrOutOfScope, options.LabelSelector)
	}
	if selector, err := fields.ParseSelector(options.FieldSelector); err == nil && !mayMatch(selector, obj) {
		return fmt.Errorf("%w: its field selector is %q", ErrOutOfScope, options.FieldSelector)
	}
	return nil
}

// mayMatch tells whether an object may be selected by a field selector. The server knows
// for each type what it may select by; nearly all of that are paths in the object.
func mayMatch(selector fields.Selector, obj Object) bool {
	requirements := selector.Requirements()
	return !slices.ContainsFunc(requirements, func(r fields.Requirement) bool {
		value, known := fieldOf(obj, r.Field)
		return known && (value == r.Value) != (r.Operator != selection.NotEquals)
	})
}

// fieldOf returns a field's value by its path, where that is a plain one.
func fieldOf(obj Object, path string) (value string, known bool) {
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
	if !ok || err != nil { // left out: empty, false or zero
		return "", false
	}
	switch found.(type) {
	case string, bool, int64:
		return fmt.Sprint(found), true
	}
	return "", false
}

// namespaceOf returns the namespace of a client: a typed one tells it, client-go's others
// only have it.
func namespaceOf(client any) string {
	if teller, ok := client.(interface{ GetNamespace() string }); ok {
		return teller.GetNamespace()
	}
	v := reflect.Indirect(reflect.ValueOf(client))
	if v.Kind() != reflect.Struct {
		return ""
	}
	if namespace := v.FieldByName("namespace"); namespace.IsValid() && namespace.Kind() == reflect.String {
		return namespace.String()
	}
	return ""
}
