// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
	clientfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// fakeSource is a fake of client-go as a test uses it: an informer's ListerWatcher, and the writes.
type fakeSource struct {
	lw      clientcache.ListerWatcher
	example runtime.Object
	write   func(event watch.EventType, pod *corev1.Pod)
}

// fakeSources returns the fakes of client-go that do not count versions, with an object.
func fakeSources(t *testing.T, pod *corev1.Pod) map[string]fakeSource {
	t.Helper()
	blocking, buffered := watch.NewFake(), watch.NewRaceFreeFake()
	return map[string]fakeSource{
		"clientset":           clientsetSource(t, clientfake.NewSimpleClientset(pod.DeepCopy())),
		"dynamic":             dynamicSource(t, dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod.DeepCopy())),
		"FakeWatcher":         {watchedPods(blocking, pod), &corev1.Pod{}, func(event watch.EventType, pod *corev1.Pod) { blocking.Action(event, pod) }},
		"RaceFreeFakeWatcher": {watchedPods(buffered, pod), &corev1.Pod{}, func(event watch.EventType, pod *corev1.Pod) { buffered.Action(event, pod) }},
	}
}

// dynamicSource is a fake dynamic client.
func dynamicSource(t *testing.T, client dynamic.Interface) fakeSource {
	t.Helper()
	pods := client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace("ns")
	return fakeSource{dynamicPods(pods, client), &unstructured.Unstructured{}, func(event watch.EventType, pod *corev1.Pod) {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
		obj := &unstructured.Unstructured{Object: content}
		obj.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		switch event {
		case watch.Added:
			_, err = pods.Create(t.Context(), obj, metav1.CreateOptions{})
		case watch.Modified:
			_, err = pods.Update(t.Context(), obj, metav1.UpdateOptions{})
		case watch.Deleted:
			err = pods.Delete(t.Context(), pod.GetName(), metav1.DeleteOptions{})
		case watch.Bookmark, watch.Error: // not written
		}
		if err != nil {
			t.Error(err)
		}
	}}
}

// clientsetSource is a fake clientset.
func clientsetSource(t *testing.T, client kubernetes.Interface) fakeSource {
	t.Helper()
	pods := client.CoreV1().Pods("ns")
	return fakeSource{podsOf(client), &corev1.Pod{}, func(event watch.EventType, pod *corev1.Pod) {
		var err error
		switch event {
		case watch.Added:
			_, err = pods.Create(t.Context(), pod, metav1.CreateOptions{})
		case watch.Modified:
			_, err = pods.Update(t.Context(), pod, metav1.UpdateOptions{})
		case watch.Deleted:
			err = pods.Delete(t.Context(), pod.Name, metav1.DeleteOptions{})
		case watch.Bookmark, watch.Error: // not written
		}
		if err != nil {
			t.Error(err)
		}
	}}
}

func dynamicPods(pods dynamic.ResourceInterface, client any) clientcache.ListerWatcher {
	return clientcache.ToListWatcherWithWatchListSemantics(&clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return pods.List(ctx, options)
		},
		WatchFuncWithContext: pods.Watch,
	}, client)
}

// watchedPods is a list of a Pod, and a watch.
func watchedPods(stream watch.Interface, pod *corev1.Pod) clientcache.ListerWatcher {
	return clientcache.ToListWatcherWithWatchListSemantics(&clientcache.ListWatch{
		ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
			return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "100"}, Items: []corev1.Pod{*pod}}, nil
		},
		WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return stream, nil },
	}, noWatchList{})
}

// fixture returns a Pod with a label x, a version, and a UID unless the version is empty.
func fixture(name, version, x string) *corev1.Pod {
	return cachetest.Pod(name, cachetest.WithLabel("x", x), func(pod *corev1.Pod) {
		if version != "" {
			pod.ResourceVersion, pod.UID = version, types.UID("uid-"+name)
		}
	})
}

// fakeChanges are writes of a test whose fixtures have versions of a kind.
func fakeChanges(first, second, third string) []func(write func(watch.EventType, *corev1.Pod)) {
	change := func(event watch.EventType, pod *corev1.Pod) func(func(watch.EventType, *corev1.Pod)) {
		return func(write func(watch.EventType, *corev1.Pod)) { write(event, pod) }
	}
	return []func(func(watch.EventType, *corev1.Pod)){
		change(watch.Modified, fixture("a", first, "1")), change(watch.Added, fixture("b", second, "1")),
		change(watch.Modified, fixture("b", second, "2")), change(watch.Modified, fixture("a", third, "2")),
		change(watch.Deleted, fixture("b", second, "2")), change(watch.Added, fixture("b", third, "3")),
	}
}

// TestFakesOfClientGoLoseNoWrite makes the writes of a test whose fixtures have the same, falling
// or no versions, those without one no UID either, with the fakes of client-go, and compares the
// handler's events and the store with those of client-go's informer.
func TestFakesOfClientGoLoseNoWrite(t *testing.T) {
	for versions, v := range map[string][3]string{
		"fixed": {"5", "5", "5"}, "of each object": {"7", "3", "7"}, "falling": {"9", "8", "7"}, "missing": {"", "", ""}, "some": {"", "6", ""}, "words": {"x", "y", "x"},
	} {
		for name := range fakeSources(t, fixture("a", "5", "0")) {
			t.Run(versions+" versions, "+name, func(t *testing.T) {
				var got, want []string
				var stored, storedWant, version, versionWant string
				synctest.Test(t, func(t *testing.T) {
					source := fakeSources(t, fixture("a", v[0], "0"))[name]
					got, stored, version = writeToFake(t, plain.NewSharedIndexInformer(source.lw, source.example, 0, nil), source, fakeChanges(v[0], v[1], v[2]))
				})
				synctest.Test(t, func(t *testing.T) {
					source := fakeSources(t, fixture("a", v[0], "0"))[name]
					want, storedWant, versionWant = writeToFake(t, clientcache.NewSharedIndexInformer(source.lw, source.example, 0, nil), source, fakeChanges(v[0], v[1], v[2]))
				})
				if !slices.Equal(got, want) || len(want) != 7 {
					t.Errorf("the handler received %q, client-go's %q", got, want)
				}
				if stored != storedWant {
					t.Errorf("stored %s, client-go %s", stored, storedWant)
				}
				if version != versionWant && versionWant != "" { // an event without one keeps the last
					t.Errorf("version %s, client-go %s", version, versionWant)
				}
			})
		}
	}
}

// writeToFake runs an informer, makes changes, and returns the events and the store with the labels
// of the objects, and the last version.
func writeToFake(t *testing.T, informer clientcache.SharedIndexInformer, source fakeSource, changes []func(func(watch.EventType, *corev1.Pod))) (events []string, stored, version string) {
	t.Helper()
	var record recorder[string]
	label := func(obj any) string {
		object := obj.(metav1.Object)
		return object.GetName() + "=" + object.GetLabels()["x"] + "@" + object.GetResourceVersion()
	}
	withHandler(t, clientcache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { record.record("A " + label(obj)) },
		UpdateFunc: func(old, obj any) { record.record("U " + label(old) + " " + label(obj)) },
		DeleteFunc: func(obj any) { record.record("D " + label(obj)) },
	})(informer)
	stop := background(t, informer.RunWithContext)
	<-time.After(2 * time.Second)
	for _, change := range changes {
		change(source.write)
		synctest.Wait()
	}
	<-time.After(2 * time.Second)
	for _, obj := range informer.GetStore().List() {
		events = append(events, label(obj))
	}
	slices.Sort(events)
	stored, version = strings.Join(events, " "), informer.LastSyncResourceVersion()
	stop()
	return record.all(), stored, version
}

// TestWatchOfAFakeIsNotGivenUp creates an object in a fake, and leaves it alone for an hour. There
// is no second watch, to which the fake would send the object again.
func TestWatchOfAFakeIsNotGivenUp(t *testing.T) {
	sources := func(t *testing.T) map[string]fakeSource {
		t.Helper()
		all := fakeSources(t, fixture("a", "", "0"))
		all["clientset with managed fields"] = clientsetSource(t, clientfake.NewClientset(fixture("a", "", "0")))
		return all
	}
	for name := range sources(t) {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			source := sources(t)[name]
			var events recorder[string]
			informer := plain.NewSharedIndexInformer(source.lw, source.example, 0, nil)
			withHandler(t, clientcache.ResourceEventHandlerFuncs{
				AddFunc:    func(obj any) { events.record("A " + obj.(metav1.Object).GetName()) },
				UpdateFunc: func(_, obj any) { events.record("U " + obj.(metav1.Object).GetName()) },
				DeleteFunc: func(any) { events.record("D") },
			})(informer)
			stop := background(t, informer.RunWithContext)
			cachetest.Advance(3 * time.Second) // a fake that ignores a WatchList is listed after two
			before := clientgo.StatusOf(informer)
			source.write(watch.Added, fixture("b", "", "0"))
			cachetest.Advance(time.Hour)
			if got, want := events.all(), []string{"A a", "A b"}; !slices.Equal(got, want) {
				t.Errorf("the handler received %q, want %q", got, want)
			}
			if after := clientgo.StatusOf(informer); after.Requests.Watches != before.Requests.Watches || after.Requests.Lists != 1 || after.Phase != cache.PhaseWatching || after.Err != nil {
				t.Errorf("%d watches, %d lists, phase %s and error %v after an hour; %d watches before", after.Requests.Watches, after.Requests.Lists, after.Phase, after.Err, before.Requests.Watches)
			}
			stop()
		})
	}
}

// TestListOfAFakeIsComparedByContent closes the watch of a fake. The next list, whose version is
// lower, equal or missing, is accepted. Only the object whose content differs is an update.
func TestListOfAFakeIsComparedByContent(t *testing.T) {
	for _, version := range []string{"3", "", "5"} {
		cachetest.RunInBubble(t, "list at "+version, func(t *testing.T) {
			list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []corev1.Pod{*fixture("a", "5", "0"), *fixture("b", "5", "0")}}
			var streams []*watch.FakeWatcher
			lists := 0
			h := run(t, clientcache.ToListWatcherWithWatchListSemantics(&clientcache.ListWatch{
				ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
					lists++
					return list.DeepCopy(), nil
				},
				WatchFunc: func(metav1.ListOptions) (watch.Interface, error) {
					streams = append(streams, watch.NewFake())
					return streams[len(streams)-1], nil
				},
			}, noWatchList{}), clientgo.Options{})
			cachetest.Advance(2 * time.Second)
			h.expectEvents("A a@5 initial", "A b@5 initial")
			streams[0].Modify(fixture("b", "4", "1"))
			h.expectEvents("U b@4")
			if got := h.informer.LastSyncResourceVersion(); got != "4" {
				t.Errorf("version %q after the event, want 4", got)
			}
			list.ResourceVersion, list.Items = version, []corev1.Pod{*fixture("a", "5", "9"), *fixture("b", "4", "1"), *fixture("c", "1", "0")}
			streams[0].Error(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: 410})
			cachetest.Advance(time.Minute)
			h.expectEvents("U a@5", "A c@1")
			if lists != 2 {
				t.Errorf("%d lists, want 2: each is of the most recent state", lists)
			}
			streams[len(streams)-1].Modify(fixture("a", "1", "2"))
			h.expectEvents("U a@1")
		})
	}
}

// TestVersionUsedTwiceIsAppliedIfTheContentDiffers sends events with the stored version over a
// watch that is not of a fake's type. One with the same content has no effect.
func TestVersionUsedTwiceIsAppliedIfTheContentDiffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan watch.Event)
		lw := clientcache.ToListWatcherWithWatchListSemantics(&clientcache.ListWatch{
			ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
				return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []corev1.Pod{*fixture("a", "5", "0"), *fixture("b", "4", "0")}}, nil
			},
			WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return watch.NewProxyWatcher(events), nil },
		}, noWatchList{})
		h := run(t, lw, clientgo.Options{})
		cachetest.Advance(2 * time.Second)
		h.expectEvents("A a@5 initial", "A b@4 initial")
		events <- watch.Event{Type: watch.Modified, Object: fixture("a", "5", "0")}
		h.expectEvents()
		events <- watch.Event{Type: watch.Modified, Object: fixture("a", "5", "1")}
		h.expectEvents("U a@5")
		events <- watch.Event{Type: watch.Added, Object: fixture("b", "4", "1")}
		h.expectEvents("U b@4")
		if got := h.informer.LastSyncResourceVersion(); got != "5" {
			t.Errorf("version %q, want 5", got)
		}
	})
}
