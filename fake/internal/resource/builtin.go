// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// BuiltIn returns the resources of all types that client-go's clientset can list, in a fixed order.
// They are shared by all servers.
//
// Each version of a group is a separate resource with separate objects, because client-go has no
// conversion between versions.
func BuiltIn() []*Resource {
	return slices.Clone(builtIn())
}

var builtIn = sync.OnceValue(clientsetResources)

// clientsetResources finds the resources by reflection on client-go's clientset.
func clientsetResources() []*Resource {
	var all []*Resource
	for method := range reflect.TypeFor[kubernetes.Interface]().Methods() {
		group := method.Type // func() corev1.CoreV1Interface
		if group.NumIn() == 0 && group.NumOut() == 1 && group.Out(0).Kind() == reflect.Interface {
			all = append(all, groupResources(group.Out(0))...)
		}
	}
	return all
}

// groupResources returns the resources of one group and version: those of the getters whose result
// has a method List.
func groupResources(group reflect.Type) []*Resource {
	var all []*Resource
	for getter := range group.Methods() {
		if getter.Type.NumOut() != 1 || getter.Type.Out(0).Kind() != reflect.Interface {
			continue
		}
		if list, ok := getter.Type.Out(0).MethodByName("List"); ok {
			_, hasStatus := getter.Type.Out(0).MethodByName("UpdateStatus")
			all = append(all, newBuiltIn(getter, list.Type.Out(0).Elem(), hasStatus))
		}
	}
	return all
}

// newBuiltIn returns the resource of a getter, such as Pods(namespace string), whose method List
// returns the given type, such as PodList. It panics if the clientset does not follow its
// conventions, which the tests of this package would find.
func newBuiltIn(getter reflect.Method, listType reflect.Type, hasStatus bool) *Resource {
	list, ok := reflect.TypeAssert[runtime.Object](reflect.New(listType))
	if !ok {
		panic(fmt.Sprintf("clientset method %s: %s is not a runtime.Object", getter.Name, listType))
	}
	gvks, _, err := scheme.Scheme.ObjectKinds(list)
	if err != nil {
		panic(fmt.Sprintf("clientset method %s: get kind of %s: %v", getter.Name, listType, err))
	}
	gvk := gvks[0]
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	example, err := scheme.Scheme.New(gvk)
	if err != nil {
		panic(fmt.Sprintf("clientset method %s: create item of %s: %v", getter.Name, listType, err))
	}
	objectType := reflect.TypeOf(example).Elem()
	gvr := gvk.GroupVersion().WithResource(strings.ToLower(getter.Name))
	return &Resource{
		GroupVersionResource: gvr,
		Kind:                 gvk,
		Stored:               gvk,
		Singular:             strings.ToLower(gvk.Kind),
		ShortNames:           shortNamesOf(gvr.GroupResource()),
		Categories:           categoriesOf(gvr.GroupResource()),
		Namespaced:           getter.Type.NumIn() == 1,
		HasStatus:            hasStatus,
		Rules:                rulesOf(gvk.GroupKind()),
		New: func() history.Object {
			obj := reflect.New(objectType).Interface().(history.Object)
			obj.GetObjectKind().SetGroupVersionKind(gvk)
			return obj
		},
		newList: func() runtime.Object { return reflect.New(listType).Interface().(runtime.Object) },
	}
}
