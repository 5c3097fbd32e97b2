package cache

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// informerKey identifies an informer of a Factory: the type of its objects and their selection.
type informerKey struct {
	objects                      reflect.Type
	kind, resource, namespace    string
	labelSelector, fieldSelector string
}

// String describes the key for errors.
func (k informerKey) String() string {
	return fmt.Sprintf("%s in namespace %q with label selector %q and field selector %q", k.objects, k.namespace, k.labelSelector, k.fieldSelector)
}

var errUnknownSelection = errors.New("the objects that the ListWatch selects are not known: use ListWatchOf or NewListWatchFromClient")

// keyOfInformer returns the key of an informer of the objects that lw selects.
func keyOfInformer[T Object](lw *ListWatch, example T) (informerKey, error) {
	objects, err := checkSource(lw, example, ReflectorOptions{})
	if err != nil {
		return informerKey{}, err
	}
	if !lw.selected.known {
		return informerKey{}, errUnknownSelection
	}
	var options metav1.ListOptions
	lw.selected.apply(&options)
	return informerKey{
		objects: objects.GoType, kind: objects.GVK.String(), resource: lw.selected.resource, namespace: lw.selected.namespace,
		labelSelector: options.LabelSelector, fieldSelector: options.FieldSelector,
	}, nil
}

// sameAs returns an error that names the first option in which other differs.
func (o InformerOptions[T]) sameAs(other InformerOptions[T]) error {
	for _, option := range []struct {
		name        string
		own, theirs any
	}{
		{"Name", o.Name, other.Name},
		{"ResyncPeriod", o.ResyncPeriod, other.ResyncPeriod},
		{"the names of Indexers", fmt.Sprint(slices.Sorted(maps.Keys(o.Indexers))), fmt.Sprint(slices.Sorted(maps.Keys(other.Indexers)))},
		{"the presence of Transform", o.Transform != nil, other.Transform != nil},
		{"the presence of Filter", o.Filter != nil, other.Filter != nil},
		{"Packed", o.Packed, other.Packed},
		{"ShareEqual", o.ShareEqual, other.ShareEqual},
		{"DetectMutations", o.DetectMutations, other.DetectMutations},
		{"ListMode", o.ListMode, other.ListMode},
		{"PageSize", o.PageSize, other.PageSize},
		{"Backoff", o.Backoff, other.Backoff},
	} {
		if option.own != option.theirs {
			return fmt.Errorf("%s differs from the informer's first use: %v, not %v", option.name, option.theirs, option.own)
		}
	}
	return nil
}
