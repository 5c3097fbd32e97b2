// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
	clientfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// fixedVersion returns a Pod of a test whose fixtures all have version 5.
func fixedVersion(name, x string) *corev1.Pod {
	return cachetest.Pod(name, cachetest.WithLabel("x", x), func(pod *corev1.Pod) {
		pod.ResourceVersion, pod.UID = "5", types.UID("uid-"+name)
	})
}

// TestFakeClientsetWithVersionsLosesNoWrite makes writes of fixtures with fixed versions through a
// fake clientset. The informer, with a filter, packed or not, delivers and stores all of them.
func TestFakeClientsetWithVersionsLosesNoWrite(t *testing.T) {
	for name, options := range map[string]cache.InformerOptions[*corev1.Pod]{
		"live": {}, "packed": {Packed: true}, "filter": {Filter: func(pod *corev1.Pod) bool { return pod.Labels["x"] != "hidden" }},
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			client := clientfake.NewSimpleClientset(fixedVersion("a", "0"))
			pods := client.CoreV1().Pods("ns")
			informer := cache.NewSharedInformer(cache.ListWatchOf(pods), &corev1.Pod{}, options)
			var events []string
			handle(t, informer, func(e cache.Event[*corev1.Pod]) {
				events = append(events, string(e.Type)+" "+e.Object().Name+"="+e.Object().Labels["x"])
			})
			start(t, informer)
			cachetest.Advance(2 * time.Second)
			lists := informer.Status().Requests.Lists
			writes := []func() (*corev1.Pod, error){
				func() (*corev1.Pod, error) {
					return pods.Update(t.Context(), fixedVersion("a", "1"), metav1.UpdateOptions{})
				},
				func() (*corev1.Pod, error) {
					return pods.Create(t.Context(), fixedVersion("b", "1"), metav1.CreateOptions{})
				},
				func() (*corev1.Pod, error) {
					return pods.Update(t.Context(), fixedVersion("b", "2"), metav1.UpdateOptions{})
				},
				func() (*corev1.Pod, error) {
					return pods.Update(t.Context(), fixedVersion("a", "2"), metav1.UpdateOptions{})
				},
				func() (*corev1.Pod, error) { return nil, pods.Delete(t.Context(), "b", metav1.DeleteOptions{}) },
				func() (*corev1.Pod, error) {
					return pods.Create(t.Context(), fixedVersion("b", "3"), metav1.CreateOptions{})
				},
				func() (*corev1.Pod, error) {
					return pods.Update(t.Context(), fixedVersion("a", "hidden"), metav1.UpdateOptions{})
				},
			}
			for _, write := range writes {
				if _, err := write(); err != nil {
					t.Error(err)
				}
				synctest.Wait()
			}
			want := []string{"Add a=0", "Update a=1", "Add b=1", "Update b=2", "Update a=2", "Delete b=2", "Add b=3", "Update a=hidden"}
			if options.Filter != nil {
				want[7] = "Delete a=hidden"
			}
			if !slices.Equal(events, want) {
				t.Errorf("the handler received %q, want %q", events, want)
			}
			if status := informer.Status(); status.Freshness.ResourceVersion != "5" || status.Requests.Lists != lists {
				t.Errorf("version %s after %d lists, want 5 after %d", status.Freshness.ResourceVersion, status.Requests.Lists, lists)
			}
			if err := informer.WaitForResourceVersion(t.Context(), "5"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWatchOfAFakeIsNotGivenUp creates an object in a fake of client-go, and leaves it alone for an
// hour. There is no second watch, to which the fake would send the object again.
func TestWatchOfAFakeIsNotGivenUp(t *testing.T) {
	pod := fixedVersion("a", "0")
	for name, client := range map[string]func() kubernetes.Interface{
		"simple":              func() kubernetes.Interface { return clientfake.NewSimpleClientset(pod) },
		"with managed fields": func() kubernetes.Interface { return clientfake.NewClientset(pod) },
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			pods := client().CoreV1().Pods("ns")
			expectOneWatch(t, cache.ListWatchOf(pods), &corev1.Pod{}, func() error {
				_, err := pods.Create(t.Context(), cachetest.Pod("b"), metav1.CreateOptions{})
				return err
			})
		})
	}
	cachetest.RunInBubble(t, "dynamic", func(t *testing.T) {
		pods := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod).Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace("ns")
		blank := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
		expectOneWatch(t, cache.ListWatchOf(pods), blank, func() error {
			created := blank.DeepCopy()
			created.SetName("b")
			_, err := pods.Create(t.Context(), created, metav1.CreateOptions{})
			return err
		})
	})
	for name, stream := range map[string]func() watch.Interface{
		"FakeWatcher":         func() watch.Interface { return watch.NewFake() },
		"RaceFreeFakeWatcher": func() watch.Interface { return watch.NewRaceFreeFake() },
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			opened := stream()
			pods := &cache.ListWatch{
				ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
					return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []corev1.Pod{*pod}}, nil
				},
				WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return opened, nil },
			}
			expectOneWatch(t, pods, &corev1.Pod{}, func() error {
				opened.(interface{ Add(obj runtime.Object) }).Add(cachetest.Pod("b"))
				return nil
			})
		})
	}
}

// expectOneWatch runs an informer of a fake with an object, creates another one, and checks that
// there is no update and no second watch for an hour.
func expectOneWatch[T cache.Object](t *testing.T, lw cache.ListerWatcher, example T, create func() error) {
	t.Helper()
	informer := cache.NewSharedInformer(lw, example, cache.InformerOptions[T]{})
	var events []string
	handle(t, informer, func(e cache.Event[T]) { events = append(events, string(e.Type)+" "+e.Object().GetName()) })
	start(t, informer)
	cachetest.Advance(2 * time.Second)
	if err := create(); err != nil {
		t.Error(err)
	}
	cachetest.Advance(time.Hour)
	if want := []string{"Add a", "Add b"}; !slices.Equal(events, want) {
		t.Errorf("the handler received %q, want %q", events, want)
	}
	if status := informer.Status(); status.Requests.Watches != 1 || status.Phase != cache.PhaseWatching || status.Err != nil {
		t.Errorf("%d watches, phase %s and error %v after an hour, want one open watch", status.Requests.Watches, status.Phase, status.Err)
	}
}

// TestInitialListIsDeliveredOnceTheWatchIsOpen blocks the first watch function after the list. The
// store has the list at once; handlers, also one that is added then, receive it when the function
// returns or fails, or 1 s after the list.
func TestInitialListIsDeliveredOnceTheWatchIsOpen(t *testing.T) {
	refused := errors.New("refused")
	for name, test := range map[string]struct {
		err     error // of the watch function
		blocked time.Duration
		want    time.Duration // from the list to the delivery
	}{
		"opened": {blocked: 300 * time.Millisecond, want: 300 * time.Millisecond},
		"failed": {blocked: 300 * time.Millisecond, want: 300 * time.Millisecond, err: refused},
		"stuck":  {blocked: time.Hour, want: time.Second},
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			pods := &cache.ListWatch{
				ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
					return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []corev1.Pod{*fixedVersion("a", "0")}}, nil
				},
				WatchFunc: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
					select {
					case <-time.After(test.blocked):
					case <-ctx.Done():
					}
					return watch.NewFake(), test.err
				},
			}
			informer := cache.NewSharedInformer(pods, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
			began := time.Now()
			add := func(name string, after *atomic.Int64) {
				t.Helper()
				if _, err := informer.AddKeyHandler(func(cache.KeyEvent) { after.Store(int64(max(1, time.Since(began)))) }, cache.HandlerOptions{Name: name}); err != nil {
					t.Fatal(err)
				}
			}
			var early, late atomic.Int64
			add("early", &early)
			start(t, informer)
			synctest.Wait()
			add("late", &late)
			synctest.Wait()
			if _, exists := informer.Store().GetByKey("ns/a"); !exists || early.Load() > 0 || late.Load() > 0 {
				t.Errorf("before the watch: stored %v, delivered after %v and %v", exists, time.Duration(early.Load()), time.Duration(late.Load()))
			}
			cachetest.Advance(2 * time.Second)
			if early, late := time.Duration(early.Load()), time.Duration(late.Load()); early != test.want || late != test.want {
				t.Errorf("handlers received the list after %v and %v, want %v", early, late, test.want)
			}
		})
	}
}
