// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package soak_test

import (
	"context"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// kind is a kind of informer.
type kind struct {
	name      string
	streaming bool
	// connect returns a constructor of informers that share a client.
	connect func(config *rest.Config) constructor
}

type constructor func() informer

var kinds = []kind{
	{"live", true, typed(cache.InformerOptions[*corev1.Pod]{})},
	{"packed", true, typed(cache.InformerOptions[*corev1.Pod]{Packed: true})},
	{"share-equal", true, typed(cache.InformerOptions[*corev1.Pod]{ShareEqual: true, Transform: dropAnnotations})},
	{"watch-list", true, typed(cache.InformerOptions[*corev1.Pod]{WatchList: true})},
	{"client-decoded", false, typed(cache.InformerOptions[*corev1.Pod]{})},
	{"unstructured", true, newUnstructured},
	{"metadata", true, newMetadata},
	{"adapter", true, adapted(clientgo.Options{})},
	{"adapter-packed", true, adapted(clientgo.Options{Packed: true, CoalesceWhenBehind: true})},
}

// informer is an informer of Pods of any type.
type informer interface {
	Run(ctx context.Context) error
	Status() cache.Status
	versions() map[string]string // the resourceVersions of the cached objects, by key
	// add adds a handler and returns a function that removes it.
	add(h *handler) (remove func(ctx context.Context) error, err error)
}

func typed(options cache.InformerOptions[*corev1.Pod]) func(*rest.Config) constructor {
	options.Logger = logr.Discard()
	options.Indexers = cache.Indexers[*corev1.Pod]{
		nodeIndex: cache.ByObject(func(pod *corev1.Pod) ([]string, error) { return []string{pod.Spec.NodeName}, nil }),
	}
	return func(config *rest.Config) constructor {
		pods := cache.NewListWatchFromClient(kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient(), "pods", "", nil)
		return func() informer { return native[*corev1.Pod]{cache.NewSharedInformer(pods, &corev1.Pod{}, options)} }
	}
}

func dropAnnotations(pod *corev1.Pod) (*corev1.Pod, error) {
	pod.Annotations = nil
	return pod, nil
}

const (
	nodeIndex = "node"
	nodes     = 10
)

func newUnstructured(config *rest.Config) constructor {
	example := &unstructured.Unstructured{}
	example.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	pods := cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(corev1.SchemeGroupVersion.WithResource("pods")))
	options := cache.InformerOptions[*unstructured.Unstructured]{Packed: true, Logger: logr.Discard()}
	return func() informer {
		return native[*unstructured.Unstructured]{cache.NewSharedInformer(pods, example, options)}
	}
}

func newMetadata(config *rest.Config) constructor {
	example := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	pods := cache.ListWatchOf(metadata.NewForConfigOrDie(config).Resource(corev1.SchemeGroupVersion.WithResource("pods")))
	options := cache.InformerOptions[*metav1.PartialObjectMetadata]{Logger: logr.Discard()}
	return func() informer {
		return native[*metav1.PartialObjectMetadata]{cache.NewSharedInformer(pods, example, options)}
	}
}

// native is an informer of package cache.
type native[T cache.Object] struct{ *cache.SharedInformer[T] }

func (i native[T]) versions() map[string]string {
	snapshot := i.Store().Snapshot()
	versions := make(map[string]string, snapshot.Len())
	for key, obj := range snapshot.All() {
		versions[key] = obj.GetResourceVersion()
	}
	return versions
}

func (i native[T]) add(h *handler) (remove func(ctx context.Context) error, err error) {
	options := cache.HandlerOptions{Name: h.pace, ContinueOnPanic: true}
	var added *cache.Registration
	if h.pace == paceKeys {
		added, err = i.AddKeyHandler(func(event cache.KeyEvent) { h.key(event.Key, i.current) }, options)
	} else {
		added, err = i.AddEventHandler(cache.EventHandlerFunc[T](func(e cache.Event[T]) {
			if e.Type == cache.EventDelete {
				h.receive(e.Type, e.Final, nil)
				return
			}
			h.receive(e.Type, e.Old, e.New)
		}), options)
	}
	if err != nil {
		return nil, err
	}
	return added.Stop, nil
}

// current returns the cached object with a key, or nil.
func (i native[T]) current(key string) metav1.Object {
	if obj, exists := i.Store().GetByKey(key); exists {
		return obj
	}
	return nil
}

// adapter is an informer of package clientgo.
type adapter struct {
	clientcache.SharedIndexInformer
	controller *cache.Controller
}

func adapted(options clientgo.Options) func(*rest.Config) constructor {
	return func(config *rest.Config) constructor {
		pods := clientcache.NewListWatchFromClient(kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient(), "pods", "", fields.Everything())
		return func() informer {
			i := options.NewInformer(pods, &corev1.Pod{}, 0, clientcache.Indexers{
				nodeIndex: func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil },
			})
			_ = i.SetWatchErrorHandler(func(*clientcache.Reflector, error) {}) // it is not running
			return adapter{i, clientgo.ControllerOf(i)}
		}
	}
}

func (a adapter) Run(ctx context.Context) error { return a.controller.Run(ctx) }

func (a adapter) Status() cache.Status { return a.controller.Status() }

func (a adapter) versions() map[string]string {
	versions := make(map[string]string)
	for _, obj := range a.GetStore().List() {
		pod := obj.(*corev1.Pod)
		versions[keyOf(pod)] = pod.ResourceVersion
	}
	return versions
}

func (a adapter) add(h *handler) (remove func(ctx context.Context) error, err error) {
	added, err := a.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { h.receive(cache.EventAdd, nil, obj.(*corev1.Pod)) },
		UpdateFunc: func(old, obj any) { h.receive(cache.EventUpdate, old.(*corev1.Pod), obj.(*corev1.Pod)) },
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(clientcache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			h.receive(cache.EventDelete, obj.(*corev1.Pod), nil)
		},
	})
	if err != nil {
		return nil, err
	}
	return func(context.Context) error { return a.RemoveEventHandler(added) }, nil
}
