// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestNilPointerExampleStatesType passes a nil pointer as the example, which states the type of the
// objects as a pointer to an empty object does.
func TestNilPointerExampleStatesType(t *testing.T) {
	for packing, options := range map[string]clientgo.Options{"live": {}, "packed": {Packed: true}} {
		t.Run(packing, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				widgets := fake.NewListerWatcher(&unstructured.Unstructured{})
				widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}}
				widget.SetNamespace("ns")
				widget.SetName("a")
				widgets.Create(widget)
				lw := &clientcache.ListWatch{ListWithContextFunc: widgets.List, WatchFuncWithContext: widgets.Watch}
				for _, informer := range []clientcache.SharedIndexInformer{
					clientgo.With(options).NewSharedIndexInformer(newServer("a"), (*corev1.Pod)(nil), 0, nil),
					clientgo.With(options).NewSharedIndexInformer(lw, (*unstructured.Unstructured)(nil), 0, nil),
				} {
					runInformer(t, informer)
					if obj, exists, err := informer.GetStore().GetByKey("ns/a"); !exists || err != nil || obj.(metav1.Object).GetName() != "a" {
						t.Errorf("the store has %v, %v, %v", obj, exists, err)
					}
				}
			})
		})
	}
}

// TestNilPointerExampleRefusesOtherTypes checks that an informer made with a nil pointer stores
// objects of its type only.
func TestNilPointerExampleRefusesOtherTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs errorRecorder
		informer := plain.NewSharedIndexInformer(newServer("a"), (*corev1.Node)(nil), 0, nil)
		errs.handle(t)(informer)
		runInformer(t, informer)
		if got := errs.all(); len(got) == 0 || !cachetest.ErrorContains("expected a list of *v1.Node, got *v1.PodList")(got[0]) {
			t.Errorf("the watch error handler received %v", got)
		}
	})
}
