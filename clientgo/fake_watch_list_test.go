package clientgo_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/kubernetes"
	clientfake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// unmarkedPodsOf lists and watches the Pods of a clientset, and does not declare whether it supports
// WatchList.
func unmarkedPodsOf(client kubernetes.Interface) clientcache.ListerWatcher {
	return &clientcache.ListWatch{
		ListFunc: func(options metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Pods("").List(context.Background(), options)
		},
		WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Pods("").Watch(context.Background(), options)
		},
	}
}

// TestFakeClientsetWithWatchListReactor checks that an informer of a fake clientset whose watch
// reactor sends the initial events and their end syncs at once and delivers what follows, whether or
// not the stream has a buffer. The objects and the bookmark have no version.
func TestFakeClientsetWithWatchListReactor(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, true)
	end := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	events := []watch.Event{
		{Type: watch.Added, Object: cachetest.Pod("a")},
		{Type: watch.Added, Object: cachetest.Pod("b")},
		{Type: watch.Bookmark, Object: end},
		{Type: watch.Added, Object: cachetest.Pod("c")},
		{Type: watch.Modified, Object: cachetest.Pod("a", cachetest.WithLabel("v", "1"))},
		{Type: watch.Deleted, Object: cachetest.Pod("b")},
	}
	for name, open := range map[string]func() (watch.Interface, func(watch.Event)){
		"unbuffered channel": func() (watch.Interface, func(watch.Event)) {
			c := make(chan watch.Event)
			return watch.NewProxyWatcher(c), func(event watch.Event) { c <- event }
		},
		"FakeWatcher": func() (watch.Interface, func(watch.Event)) {
			fake := watch.NewFake()
			return fake, func(event watch.Event) { fake.Action(event.Type, event.Object) }
		},
		"RaceFreeFakeWatcher": func() (watch.Interface, func(watch.Event)) {
			fake := watch.NewRaceFreeFake()
			return fake, func(event watch.Event) { fake.Action(event.Type, event.Object) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stream, send := open()
				client := clientfake.NewClientset(cachetest.Pod("a"), cachetest.Pod("b"))
				client.PrependWatchReactor("pods", clienttesting.DefaultWatchReactor(stream, nil))
				go func() {
					for _, event := range events {
						send(event)
					}
				}()
				began := time.Now()
				h := run(t, unmarkedPodsOf(client), clientgo.Options{})
				h.expectEvents("A a initial", "A b initial", "A c", "U a", "D b")
				if took := time.Since(began); took != 0 || !h.informer.HasSynced() {
					t.Errorf("synced %v after %v", h.informer.HasSynced(), took)
				}
			})
		})
	}
}
