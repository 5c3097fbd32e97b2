// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestObjectsOfAnotherTypeAreRefused checks that a list of objects of another type than the
// example's fails, and that an event of such an object is passed over.
func TestObjectsOfAnotherTypeAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "2"}}
		server := newScriptedServer()
		pods := server.ListFunc
		server.ListFunc = func(metav1.ListOptions) (runtime.Object, error) {
			return &corev1.ServiceList{Items: []corev1.Service{service}}, nil
		}
		var errs errorRecorder
		h := run(t, server, clientgo.Options{}, errs.handle(t))
		if got := errs.all(); h.informer.HasSynced() || len(got) != 1 || !strings.Contains(got[0].Error(), "expected a list of *v1.Pod, got *v1.ServiceList") {
			t.Errorf("the informer has synced is %v, and the watch error handler received %v", h.informer.HasSynced(), got)
		}
		h.stop()

		server.ListFunc = pods
		h = run(t, server, clientgo.Options{})
		server.send(watch.Added, cachetest.Pod("a"))
		server.send(watch.Added, &service)
		server.send(watch.Added, cachetest.Pod("b"))
		h.expectEvents("A a", "A b")
	})
}

// Types of a program that embed unstructured.Unstructured.
type (
	wrapper      struct{ unstructured.Unstructured }
	namedWrapper struct{ wrapper }
	extended     struct {
		unstructured.Unstructured
		Phase string `json:"-"`
	}
)

func (e *extended) Name() string { return e.GetName() }

// TestTypeThatWrapsUnstructuredNeedsStreaming runs informers of types that embed Unstructured. If
// the client streams, the objects have that type. If it decodes, the list is refused.
func TestTypeThatWrapsUnstructuredNeedsStreaming(t *testing.T) {
	pod := func(u *unstructured.Unstructured) { u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod")) }
	kind := &wrapper{}
	pod(&kind.Unstructured)
	for name, example := range map[string]runtime.Object{
		"any kind": &wrapper{}, "Pods": kind, "nil": (*wrapper)(nil), "nested": &namedWrapper{}, "with a field": &extended{},
	} {
		t.Run(name+", streamed", func(t *testing.T) {
			config := startCluster(t)
			cache.EnableStreaming(config)
			pods := dynamic.NewForConfigOrDie(config).Resource(corev1.SchemeGroupVersion.WithResource("pods"))
			informer := clientgo.With(clientgo.Options{Streaming: true}).NewSharedIndexInformer(dynamicPods(pods, nil), example, 0, nil)
			stop := background(t, informer.RunWithContext)
			<-informer.HasSyncedChecker().Done()
			stored := informer.GetStore().List()
			if len(stored) != 2 {
				t.Errorf("%d objects, want 2", len(stored))
			}
			for _, obj := range stored {
				if got, want := fmt.Sprintf("%T", obj), fmt.Sprintf("%T", example); got != want || obj.(metav1.Object).GetName() == "" {
					t.Errorf("an object of %s, want %s", got, want)
				}
			}
			stop()
		})
		cachetest.RunInBubble(t, name+", decoded", func(t *testing.T) {
			client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, fixture("a", "", "0"))
			pods := client.Resource(corev1.SchemeGroupVersion.WithResource("pods"))
			var errs errorRecorder
			informer := plain.NewSharedIndexInformer(dynamicPods(pods, client), example, 0, nil)
			errs.handle(t)(informer)
			h := runInformer(t, informer)
			if got := errs.all(); informer.HasSynced() || len(got) != 1 || !strings.Contains(got[0].Error(), "got *unstructured.UnstructuredList") {
				t.Errorf("synced %v, and the watch error handler received %v", informer.HasSynced(), got)
			}
			h.stop()
		})
	}
}
