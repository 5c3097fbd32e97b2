// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"reflect"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
)

// TestGeneratedFactoryFunctionsStream checks that the list and watch functions of a generated
// factory are streamed if Streaming is set: they return the server's response unchanged.
func TestGeneratedFactoryFunctionsStream(t *testing.T) {
	t.Parallel()
	pods := newPodCollection(t, shared(t), 50)
	pods.fill(t)
	for name, allowed := range map[string]bool{"Streaming set": true, "Streaming not set": false} {
		t.Run(name, func(t *testing.T) {
			s := startInformer(t, pods.cluster, allowed, &corev1.Pod{}, func(t *testing.T, config *rest.Config) cache.ListerWatcher {
				factory := informers.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(config), 0, informers.WithNamespace(pods.namespace))
				lw := listWatchOf(t, factory.Core().V1().Pods().Informer())
				return &cache.ListWatch{ListFunc: lw.ListWithContext, WatchFunc: lw.WatchWithContext, Streaming: allowed}
			}, cache.EnableStreaming)
			s.expectSettled(t, pods.truth(t))
			if status := s.controller.Status(); status.Requests.Streaming != allowed {
				t.Errorf("streaming: %v (%s), want %v", status.Requests.Streaming, status.Requests.NotStreamingReason, allowed)
			}
		})
	}
}

// listWatchOf returns the list and watch functions of a generated informer, from an unexported
// field. Programs use the factories of package clientgo instead.
func listWatchOf(t *testing.T, informer clientcache.SharedIndexInformer) clientcache.ListerWatcherWithContext {
	t.Helper()
	v := reflect.ValueOf(informer)
	for v.Kind() != reflect.Struct || v.FieldByName("SharedIndexInformer").IsValid() {
		if v.Kind() == reflect.Struct { // the generated informer embeds it
			v = v.FieldByName("SharedIndexInformer")
		}
		v = v.Elem()
	}
	field := v.FieldByName("listerWatcher")
	if !field.IsValid() || !field.CanAddr() {
		t.Fatalf("%T has no addressable field listerWatcher", informer)
	}
	return clientcache.ToListerWatcherWithContext(*(*clientcache.ListerWatcher)(unsafe.Pointer(field.UnsafeAddr()))) //nolint:gosec // the field is not exported
}
