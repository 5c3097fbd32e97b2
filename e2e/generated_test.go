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

// The functions that a generated factory gives its informers stream, once somebody says that they may: they return what
// the server answered.
func TestClosuresOfAGeneratedFactoryStream(t *testing.T) {
	t.Parallel()
	pods := podScene(t, shared(t), 50)
	pods.fill(t)
	for name, allowed := range map[string]bool{"allowed to": true, "not allowed to": false} {
		t.Run(name, func(t *testing.T) {
			s := startInformer(t, pods.cluster, allowed, &corev1.Pod{}, func(t *testing.T, config *rest.Config) cache.ListerWatcher {
				factory := informers.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(config), 0, informers.WithNamespace(pods.namespace))
				lw := functionsOf(t, factory.Core().V1().Pods().Informer())
				return &cache.ListWatch{ListFunc: lw.ListWithContext, WatchFunc: lw.WatchWithContext, Streaming: allowed}
			}, cache.EnableStreaming)
			s.settled(t, pods.truth(t))
			if status := s.controller.Status(); status.Streaming != allowed {
				t.Errorf("streaming: %v (%s), want %v", status.Streaming, status.NotStreamingReason, allowed)
			}
		})
	}
}

// functionsOf returns what a generated informer lists and watches with. Its field is not exported: nobody but a test wants
// it from there, package clientgo has informer factories of its own.
func functionsOf(t *testing.T, informer clientcache.SharedIndexInformer) clientcache.ListerWatcherWithContext {
	t.Helper()
	v := reflect.ValueOf(informer)
	for v.Kind() != reflect.Struct || v.FieldByName("SharedIndexInformer").IsValid() {
		if v.Kind() == reflect.Struct { // the typed informer around it
			v = v.FieldByName("SharedIndexInformer")
		}
		v = v.Elem()
	}
	field := v.FieldByName("listerWatcher")
	if !field.IsValid() || !field.CanAddr() {
		t.Fatalf("%T keeps its functions elsewhere", informer)
	}
	return clientcache.ToListerWatcherWithContext(*(*clientcache.ListerWatcher)(unsafe.Pointer(field.UnsafeAddr()))) //nolint:gosec // see above
}
