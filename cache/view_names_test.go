// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// TestUniqueNamesOfInformers checks that informers of one name have different unique names, which
// they keep, and that the next informer gets the name of one that has stopped.
func TestUniqueNamesOfInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func() (cache.View, func()) {
			informer := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: "unique"})
			stop := start(t, informer)
			return informer.Views()[0], stop
		}
		expect := func(want string, views ...cache.View) {
			t.Helper()
			var names []string
			for _, view := range views {
				names = append(names, view.UniqueName())
			}
			if got := fmt.Sprint(names); got != want {
				t.Errorf("names %v, want %v", got, want)
			}
		}
		a, stopA := run()
		b, stopB := run()
		expect("[unique unique#2]", a, b)
		stopA()
		c, stopC := run()
		expect("[unique unique#2 unique]", a, b, c)
		stopB()
		stopC()
	})
}

// TestUniqueNamesOfHandlers checks that handlers of one name have different unique names, which
// they keep when another one is removed.
func TestUniqueNamesOfHandlers(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		expect := func(want string) {
			t.Helper()
			var names []string
			for _, handler := range s.Status().Handlers {
				names = append(names, handler.UniqueName)
			}
			if got := fmt.Sprint(names); got != want {
				t.Errorf("handlers %v, want %v", got, want)
			}
		}
		first := s.add(&eventRecorder{}, cache.HandlerOptions{Name: "h"})
		s.add(&eventRecorder{}, cache.HandlerOptions{Name: "h"})
		s.add(&eventRecorder{}, cache.HandlerOptions{Name: "h#2"})
		expect("[h h#2 h#2#2]")
		first.Cancel()
		expect("[h#2 h#2#2]")
		if got := first.Status().UniqueName; got != "h" {
			t.Errorf("the removed handler is %q, want h", got)
		}
		s.add(&eventRecorder{}, cache.HandlerOptions{Name: "h"})
		expect("[h#2 h#2#2 h]")
	})
}

// TestDefaultNames checks the names of informers and handlers that were given none.
func TestDefaultNames(t *testing.T) {
	informers := map[string]cache.Viewable{
		"Pod":                   unnamed(&corev1.Pod{}),
		"Node":                  unnamed((*corev1.Node)(nil)),
		"Widget":                unnamed(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}}),
		"Unstructured":          unnamed(&unstructured.Unstructured{}),
		"Deployment":            unnamed(&metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}}),
		"PartialObjectMetadata": unnamed((*metav1.PartialObjectMetadata)(nil)),
		"specOf":                unnamed(&specOf[corev1.PodSpec]{}),
	}
	for want, informer := range informers {
		if got := informer.Views()[0].Status().Name; got != want {
			t.Errorf("got the name %q, want %q", got, want)
		}
	}
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		s.add(cache.ResourceEventHandlerFuncs[*corev1.Pod]{}, cache.HandlerOptions{})
		if got := s.Status().Handlers[0].Name; got != "cache.ResourceEventHandlerFuncs" {
			t.Errorf("got the handler's name %q", got)
		}
	})
}

func unnamed[T cache.Object](example T) cache.Viewable {
	return cache.NewSharedInformer(nil, example, cache.InformerOptions[T]{})
}

// specOf is a generic type of objects.
type specOf[S any] struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec S
}

func (s *specOf[S]) DeepCopyObject() runtime.Object { c := *s; return &c }
