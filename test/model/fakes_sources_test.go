// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clientfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/fake"
)

// fakeSource is a fake of client-go with the Pods of a test.
type fakeSource interface {
	fixture(s fakeStep) // before the informer runs
	write(s fakeStep)
	listerWatcher() clientcache.ListerWatcher
	example() runtime.Object
}

// expiring is a fakeSource whose watch can be ended by 410.
type expiring interface{ expire() }

var fakeSources = map[string]func() fakeSource{
	"clientset": func() fakeSource { return &clientsetSource{client: clientfake.NewSimpleClientset()} },
	"dynamic":   func() fakeSource { return &dynamicSource{client: dynamicfake.NewSimpleDynamicClient(scheme.Scheme)} },
	"FakeWatcher": func() fakeSource {
		return newWatcherSource(func() fakeWatcher { return watch.NewFakeWithChanSize(100, false) })
	},
	"FakeWatcher without buffer": func() fakeSource { return newWatcherSource(func() fakeWatcher { return watch.NewFake() }) },
	"RaceFreeFakeWatcher":        func() fakeSource { return newWatcherSource(func() fakeWatcher { return watch.NewRaceFreeFake() }) },
}

// clientsetSource is a fake clientset.
type clientsetSource struct {
	fakeObjects
	client *clientfake.Clientset
}

func (c *clientsetSource) fixture(s fakeStep) { c.write(s) }

func (c *clientsetSource) write(s fakeStep) {
	pod, existed := c.pod(s)
	if pod == nil {
		return
	}
	pods := c.client.CoreV1().Pods(pod.Namespace)
	s.apply(existed, func(ctx context.Context) error {
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		return err
	}, func(ctx context.Context) error {
		_, err := pods.Update(ctx, pod, metav1.UpdateOptions{})
		return err
	}, func(ctx context.Context) error { return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}) })
}

// apply makes the write of a step with one of three functions.
func (s fakeStep) apply(existed bool, create, update, remove func(context.Context) error) {
	write := create
	switch {
	case s.Remove:
		write = remove
	case existed:
		write = update
	}
	if err := write(context.Background()); err != nil {
		panic(err)
	}
}

func (c *clientsetSource) listerWatcher() clientcache.ListerWatcher {
	return listerWatcherOf(c.client.CoreV1().Pods(metav1.NamespaceAll), c.client)
}

// podLister lists and watches Pods.
type podLister[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// listerWatcherOf returns the list and watch functions of a client for its Pods. They support
// WatchList as the client says.
func listerWatcherOf[L runtime.Object](pods podLister[L], client any) clientcache.ListerWatcher {
	return clientcache.ToListWatcherWithWatchListSemantics(&clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return pods.List(ctx, options)
		},
		WatchFuncWithContext: pods.Watch,
	}, client)
}

func (*clientsetSource) example() runtime.Object { return &corev1.Pod{} }

// dynamicSource is a fake dynamic client.
type dynamicSource struct {
	fakeObjects
	client *dynamicfake.FakeDynamicClient
}

func (d *dynamicSource) fixture(s fakeStep) { d.write(s) }

func (d *dynamicSource) write(s fakeStep) {
	pod, existed := d.pod(s)
	if pod == nil {
		return
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	if err != nil {
		panic(err)
	}
	obj, pods := &unstructured.Unstructured{Object: content}, d.pods().Namespace(pod.Namespace)
	s.apply(existed, func(ctx context.Context) error {
		_, err := pods.Create(ctx, obj, metav1.CreateOptions{})
		return err
	}, func(ctx context.Context) error {
		_, err := pods.Update(ctx, obj, metav1.UpdateOptions{})
		return err
	}, func(ctx context.Context) error { return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}) })
}

func (d *dynamicSource) pods() dynamic.NamespaceableResourceInterface {
	return d.client.Resource(corev1.SchemeGroupVersion.WithResource("pods"))
}

func (d *dynamicSource) listerWatcher() clientcache.ListerWatcher {
	return listerWatcherOf(d.pods(), d.client)
}

func (*dynamicSource) example() runtime.Object {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	return obj
}

// fakeWatcher is the common part of client-go's two fakes of a watch.
type fakeWatcher interface {
	watch.Interface
	Add(runtime.Object)
	Modify(runtime.Object)
	Delete(runtime.Object)
	Error(runtime.Object)
}

// watcherSource is a list function and a watch function that returns a watcher to which the test
// sends its events.
type watcherSource struct {
	fakeObjects
	open func() fakeWatcher

	watching sync.Mutex // guards watcher
	watcher  fakeWatcher
}

func newWatcherSource(open func() fakeWatcher) *watcherSource {
	return &watcherSource{open: open, watcher: open()}
}

func (w *watcherSource) fixture(s fakeStep) { w.pod(s) }

// write sends an event to the watcher of the test. It may wait until the informer receives it. An
// object that does not exist may be deleted: the watcher does not know.
func (w *watcherSource) write(s fakeStep) {
	pod, existed := w.pod(s)
	if pod == nil {
		pod = w.absent(s)
	}
	w.watching.Lock()
	watcher := w.watcher
	w.watching.Unlock()
	switch {
	case s.Remove:
		watcher.Delete(pod.DeepCopy())
	case existed:
		watcher.Modify(pod.DeepCopy())
	default:
		watcher.Add(pod.DeepCopy())
	}
}

// expire ends the watch by 410. The next one is another watcher.
func (w *watcherSource) expire() {
	w.watching.Lock()
	before := w.watcher
	w.watcher = w.open()
	w.watching.Unlock()
	before.Error(fake.ErrorEvent(fake.Expired()).Object)
	before.Stop()
}

// withoutWatchList says that the functions do not support WatchList.
type withoutWatchList struct{ *clientcache.ListWatch }

func (withoutWatchList) IsWatchListSemanticsUnSupported() bool { return true }

func (w *watcherSource) listerWatcher() clientcache.ListerWatcher {
	return withoutWatchList{&clientcache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return w.all(), nil },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			w.watching.Lock()
			defer w.watching.Unlock()
			return w.watcher, nil
		},
	}}
}

func (*watcherSource) example() runtime.Object { return &corev1.Pod{} }
