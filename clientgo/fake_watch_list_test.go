// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"fmt"
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
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// unmarkedPodsOf lists and watches the Pods of a clientset, and does not declare whether it
// supports WatchList.
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
// reactor sends the initial events and their end syncs at once and delivers what follows, whether
// or not the stream has a buffer. The objects and the bookmark have no version.
func TestFakeClientsetWithWatchListReactor(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, true)
	events := []watch.Event{
		{Type: watch.Added, Object: cachetest.Pod("a")},
		{Type: watch.Added, Object: cachetest.Pod("b")},
		{Type: watch.Bookmark, Object: initialEventsEnd()},
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
			stream := watch.NewFake()
			return stream, func(event watch.Event) { stream.Action(event.Type, event.Object) }
		},
		"RaceFreeFakeWatcher": func() (watch.Interface, func(watch.Event)) {
			stream := watch.NewRaceFreeFake()
			return stream, func(event watch.Event) { stream.Action(event.Type, event.Object) }
		},
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
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
			cachetest.Advance(time.Minute)
			send(watch.Event{Type: watch.Added, Object: cachetest.Pod("d")})
			h.expectEvents("A d")
		})
	}
}

// TestFakeClientsetThatIgnoresWatchListIsListed checks that an informer of a fake clientset which
// does not declare that it ignores WatchList syncs by a list after two seconds without an event,
// and says what happened.
func TestFakeClientsetThatIgnoresWatchListIsListed(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, true)
	for name, created := range map[string]int{"idle": 0, "an object a second": 3} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			client := clientfake.NewClientset(cachetest.Pod("a"))
			informer := clientgo.With(clientgo.Options{}).NewSharedIndexInformer(unmarkedPodsOf(client), &corev1.Pod{}, 0, nil)
			logged := runLoggedAt(t, informer, 0)
			began := time.Now()
			for i := range created {
				cachetest.Advance(time.Second)
				create(t, client, fmt.Sprint("b", i))
			}
			<-informer.HasSyncedChecker().Done()
			if took := time.Since(began); took != time.Duration(2+created)*time.Second {
				t.Errorf("synced after %v", took)
			}
			if keys := informer.GetStore().ListKeys(); len(keys) != 1+created {
				t.Errorf("the store has %q", keys)
			}
			if logged.count("a fake client that does not support WatchList") != 1 {
				t.Errorf("the log does not say what happened:\n%s", &logged.log)
			}
			create(t, client, "c")
			synctest.Wait()
			if _, ok, _ := informer.GetStore().GetByKey("ns/c"); !ok {
				t.Error("the store lacks an object created after the list")
			}
		})
	}
}

func create(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	if _, err := client.CoreV1().Pods("ns").Create(t.Context(), cachetest.Pod(name), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

// TestSlowWatchListIsAwaited checks that a WatchList whose stream is not that of a client-go fake
// is not given up after two seconds without an event: a server may be slow.
func TestSlowWatchListIsAwaited(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, true)
	synctest.Test(t, func(t *testing.T) {
		stream, opened := watch.NewFake(), 0
		h := run(t, &clientcache.ListWatch{WatchFunc: func(metav1.ListOptions) (watch.Interface, error) {
			opened++
			return stream, nil
		}}, clientgo.Options{})
		for _, event := range []watch.Event{{Type: watch.Added, Object: cachetest.Pod("a")}, {Type: watch.Bookmark, Object: initialEventsEnd()}} {
			cachetest.Advance(20 * time.Second)
			stream.Action(event.Type, event.Object)
		}
		h.expectEvents("A a initial")
		if opened != 1 {
			t.Errorf("%d watches, want one", opened)
		}
	})
}

// initialEventsEnd returns the object of the bookmark that ends the initial events, without a
// version.
func initialEventsEnd() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
}
