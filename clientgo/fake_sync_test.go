// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clientfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// reactiveFake is a fake of client-go that keeps objects and has reactors.
type reactiveFake struct {
	fakeSource
	reactors *clienttesting.Fake
}

type newReactiveFake func(t *testing.T, objects ...runtime.Object) reactiveFake

// reactiveFakes returns constructors of the fakes of client-go that keep objects.
func reactiveFakes() map[string]newReactiveFake {
	return map[string]newReactiveFake{
		"NewSimpleClientset": func(t *testing.T, objects ...runtime.Object) reactiveFake {
			t.Helper()
			client := clientfake.NewSimpleClientset(objects...)
			return reactiveFake{clientsetSource(t, client), &client.Fake}
		},
		"NewClientset": func(t *testing.T, objects ...runtime.Object) reactiveFake {
			t.Helper()
			client := clientfake.NewClientset(objects...)
			return reactiveFake{clientsetSource(t, client), &client.Fake}
		},
		"dynamic": func(t *testing.T, objects ...runtime.Object) reactiveFake {
			t.Helper()
			client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, objects...)
			return reactiveFake{dynamicSource(t, client), &client.Fake}
		},
	}
}

// syncWaits are how programs wait before they write.
func syncWaits() map[string]func(clientcache.SharedIndexInformer, clientcache.ResourceEventHandlerRegistration) {
	return map[string]func(clientcache.SharedIndexInformer, clientcache.ResourceEventHandlerRegistration){
		"informer": func(informer clientcache.SharedIndexInformer, _ clientcache.ResourceEventHandlerRegistration) {
			<-informer.HasSyncedChecker().Done()
		},
		"registration": func(_ clientcache.SharedIndexInformer, handle clientcache.ResourceEventHandlerRegistration) {
			<-handle.HasSyncedChecker().Done()
		},
		"HasSynced": func(informer clientcache.SharedIndexInformer, _ clientcache.ResourceEventHandlerRegistration) {
			for !informer.HasSynced() {
				<-time.After(time.Millisecond)
			}
		},
		"HasSynced of the registration": func(_ clientcache.SharedIndexInformer, handle clientcache.ResourceEventHandlerRegistration) {
			for !handle.HasSynced() {
				<-time.After(time.Millisecond)
			}
		},
	}
}

// TestWriteAfterSyncReachesTheHandler writes to a fake as soon as the informer, or the registration
// of its handler, has synced. The fake answers the watch at once, or later than the list. It sends
// no change that was made before, so that an update would be missing, and a deletion be lost.
func TestWriteAfterSyncReachesTheHandler(t *testing.T) {
	for name, newFake := range reactiveFakes() {
		for waitFor, wait := range syncWaits() {
			for _, empty := range []bool{true, false} {
				for delay, rounds := range map[time.Duration]int{0: 20, 300 * time.Millisecond: 1} {
					t.Run(fmt.Sprintf("%s, %s, empty=%v, watch after %v", name, waitFor, empty, delay), func(t *testing.T) {
						for range rounds {
							synctest.Test(t, func(t *testing.T) { writeAfterSync(t, newFake, wait, empty, delay) })
						}
					})
				}
			}
		}
	}
}

func writeAfterSync(t *testing.T, newFake newReactiveFake, wait func(clientcache.SharedIndexInformer, clientcache.ResourceEventHandlerRegistration), empty bool, delay time.Duration) {
	t.Helper()
	var objects []runtime.Object
	want := []string{"A b", "U b", "D b"}
	if !empty {
		objects = append(objects, fixture("a", "", "0"))
		want = []string{"A a initial", "A b", "U b", "D b", "U a", "D a"}
	}
	source := newFake(t, objects...)
	source.reactors.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
		<-time.After(delay)
		return false, nil, nil
	})
	informer := plain.NewSharedIndexInformer(source.lw, source.example, 0, nil)
	var events recordingHandler
	handle, err := informer.AddEventHandler(&events)
	if err != nil {
		t.Fatal(err)
	}
	stop := background(t, informer.RunWithContext)
	wait(informer, handle)
	source.write(watch.Added, fixture("b", "", "0"))
	source.write(watch.Modified, fixture("b", "", "1"))
	source.write(watch.Deleted, fixture("b", "", "1"))
	if !empty {
		source.write(watch.Modified, fixture("a", "", "1"))
		source.write(watch.Deleted, fixture("a", "", "1"))
	}
	synctest.Wait()
	if got := events.take(); !slices.Equal(got, want) {
		t.Errorf("the handler received %q, want %q", got, want)
	}
	stop()
}

// TestSyncWaitsForTheWatchOfAFake runs informers of fakes whose first watch is opened late, blocks,
// fails or is nil, with one object or none. They sync when it is open or has failed, or 1 s after
// the list. The store is filled at once. When the informer has stopped, the bubble ends.
func TestSyncWaitsForTheWatchOfAFake(t *testing.T) {
	for name, test := range map[string]struct {
		after   time.Duration // that the watch reactor returns
		handled bool          // by the reactor: the watch is nil, or fails with err
		err     error
		want    time.Duration
	}{
		"opened at once":  {0, false, nil, 0},
		"opened late":     {300 * time.Millisecond, false, nil, 300 * time.Millisecond},
		"opened too late": {1100 * time.Millisecond, false, nil, time.Second},
		"failed":          {0, true, errRefused, 0},
		"failed late":     {900 * time.Millisecond, true, errRefused, 900 * time.Millisecond},
		"nil":             {0, true, nil, 0},
		"nil late":        {time.Minute, true, nil, time.Second},
		"blocked":         {time.Hour, true, errRefused, time.Second},
	} {
		for fakeName, newFake := range reactiveFakes() {
			for _, objects := range [][]runtime.Object{nil, {fixture("a", "", "0")}} {
				cachetest.RunInBubble(t, fmt.Sprintf("%s, %s, %d objects", name, fakeName, len(objects)), func(t *testing.T) {
					source := newFake(t, objects...)
					source.reactors.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
						<-time.After(test.after)
						return test.handled, nil, test.err
					})
					expectSyncAfter(t, source, len(objects), test.want)
					<-time.After(max(0, test.after-test.want)) // until the reactor has returned
				})
			}
		}
	}
}

// expectSyncAfter runs an informer with a handler that is added before the list, and one that is
// added after it, and checks when the informer and the registrations sync.
func expectSyncAfter(t *testing.T, source reactiveFake, objects int, want time.Duration) {
	t.Helper()
	informer := plain.NewSharedIndexInformer(source.lw, source.example, 0, nil)
	add := func() clientcache.ResourceEventHandlerRegistration {
		t.Helper()
		handle, err := informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{})
		if err != nil {
			t.Fatal(err)
		}
		return handle
	}
	began, early := time.Now(), add()
	stop := background(t, informer.RunWithContext)
	synctest.Wait()
	late := add()
	synctest.Wait()
	if stored := len(informer.GetStore().List()); stored != objects {
		t.Errorf("%d objects stored at once, want %d", stored, objects)
	}
	for _, synced := range []bool{informer.HasSynced(), early.HasSynced(), late.HasSynced()} {
		if synced != (want == 0) {
			t.Errorf("synced %v at once, want %v", synced, want == 0)
		}
	}
	for name, synced := range map[string]clientcache.DoneChecker{
		"informer": informer.HasSyncedChecker(), "early registration": early.HasSyncedChecker(), "late registration": late.HasSyncedChecker(),
	} {
		<-synced.Done()
		if took := time.Since(began); took != want {
			t.Errorf("the %s synced after %v, want %v", name, took, want)
		}
	}
	stop()
}

// TestControllerSyncsOnceTheWatchOfAFakeIsOpen does the same with the controllers of NewInformer,
// with and without a handler.
func TestControllerSyncsOnceTheWatchOfAFakeIsOpen(t *testing.T) {
	for name, handler := range map[string]clientcache.ResourceEventHandler{"handler": &recordingHandler{}, "no handler": nil} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			client := clientfake.NewClientset()
			client.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
				<-time.After(300 * time.Millisecond)
				return false, nil, nil
			})
			_, controller := plain.NewInformer(podsOf(client), &corev1.Pod{}, 0, handler)
			began := time.Now()
			stop := background(t, controller.RunWithContext)
			synctest.Wait()
			if controller.HasSynced() {
				t.Error("synced before the watch was open")
			}
			<-controller.HasSyncedChecker().Done()
			if took := time.Since(began); took != 300*time.Millisecond {
				t.Errorf("synced after %v", took)
			}
			stop()
		})
	}
}
