package clientgo_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
)

// Informers are made with locks held: nothing is asked for, no goroutine begins (which the
// bubble would wait for), and the example remains its owner's.
func TestFact10MakingAnInformerDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		example := &unstructured.Unstructured{}
		example.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
		informer := clientgo.NewSharedIndexInformer(server, example, time.Hour, clientcache.Indexers{"name": byName})
		name := informer.HasSyncedChecker().Name()
		example.SetKind("Node")
		if _, err := informer.AddEventHandler(&noted{}); err != nil {
			t.Error(err)
		}
		if got := server.Requests(); len(got) != 0 {
			t.Errorf("requests: %v", got)
		}
		if name != "SharedIndexInformer *unstructured.Unstructured" {
			t.Errorf("it is called %q", name)
		}
	})
}

// An unstructured example's kind is what is watched.
func TestFact10TheExampleSaysTheKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		example := &unstructured.Unstructured{}
		example.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
		server := fake.NewListerWatcher(example)
		first := example.DeepCopy()
		first.SetName("a")
		server.Create(first)
		informer := clientgo.NewSharedIndexInformer(&clientcache.ListWatch{ListWithContextFunc: server.List, WatchFuncWithContext: server.Watch}, example, 0, nil)
		example.SetKind("Node")
		s := &scene{t: t, informer: informer}
		s.start()
		if obj, ok, _ := informer.GetStore().GetByKey("a"); !ok || obj.(*unstructured.Unstructured).GetKind() != "Pod" {
			t.Errorf("the store has %v, %v", obj, ok)
		}
	})
}

// A nil transform is none. Setters after the start are errors, and the store that was taken
// before is the one that lives.
func TestFact11Setters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		informer := clientgo.NewSharedIndexInformer(server, &corev1.Pod{}, 0, nil)
		store, indexer := informer.GetStore(), informer.GetIndexer()
		if err := informer.SetTransform(nil); err != nil {
			t.Error(err)
		}
		if err := informer.SetWatchErrorHandler(func(*clientcache.Reflector, error) {}); err != nil {
			t.Error(err)
		}
		if len(store.List()) != 0 || informer.LastSyncResourceVersion() != "" {
			t.Error("there is something before Run")
		}
		s := &scene{t: t, informer: informer}
		s.start()
		for name, err := range map[string]error{
			"SetTransform":                    informer.SetTransform(nil),
			"SetWatchErrorHandler":            informer.SetWatchErrorHandler(nil),
			"SetWatchErrorHandlerWithContext": informer.SetWatchErrorHandlerWithContext(nil),
		} {
			if err == nil || err.Error() != "informer has already started" {
				t.Errorf("%s after the start: %v", name, err)
			}
		}
		s.stop()
		if len(store.List()) != 1 || len(indexer.ListKeys()) != 1 {
			t.Error("the store that was taken before Run is not the one that lives")
		}
		if informer.LastSyncResourceVersion() != "2" || informer.GetController().LastSyncResourceVersion() != "2" {
			t.Errorf("it was at %q", informer.LastSyncResourceVersion())
		}
	})
}

// Indexes may come before, while and until the informer runs: what is there is in them when
// the call returns. A name that is known is an error.
func TestFact12AddIndexers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		hold := make(chan struct{})
		server.InjectWatchFault(1, fake.Fault{Hold: hold})
		s := run(t, server, clientgo.Options{Indexers: clientcache.Indexers{"first": byName}}, func(informer clientcache.SharedIndexInformer) {
			if err := informer.AddIndexers(clientcache.Indexers{"before": byName}); err != nil {
				t.Error(err)
			}
		})
		if err := s.informer.AddIndexers(clientcache.Indexers{"waiting": byName}); err != nil || s.informer.HasSynced() {
			t.Errorf("AddIndexers before the sync: %v, %v", err, s.informer.HasSynced())
		}
		close(hold)
		<-s.informer.HasSyncedChecker().Done()
		if err := s.informer.AddIndexers(clientcache.Indexers{"after": byName}); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"first", "before", "waiting", "after"} {
			if found, err := s.informer.GetIndexer().ByIndex(name, "a"); err != nil || len(found) != 1 {
				t.Errorf("index %q finds %v, %v", name, found, err)
			}
		}
		if err := s.informer.AddIndexers(clientcache.Indexers{"new": byName, "first": byName}); err == nil {
			t.Error("a name that is taken is no error")
		} else if s.informer.GetIndexer().GetIndexers()["new"] != nil {
			t.Error("half of the indexes were added")
		}
		s.stop()
		if err := s.informer.AddIndexers(clientcache.Indexers{"late": byName}); err == nil {
			t.Error("an index was added after the end")
		}
	})
}

// Run returns, and leaves nothing, even if a request hangs; a second Run returns at once.
func TestFact13RunEnds(t *testing.T) {
	for name, watchList := range map[string]bool{"list": false, "watch": true} {
		t.Run(name, func(t *testing.T) {
			featurestesting.SetFeatureDuringTest(t, features.WatchListClient, watchList)
			synctest.Test(t, func(t *testing.T) {
				resume := make(chan struct{})
				defer close(resume)
				hang := func() error { <-resume; return errRefused }
				s := run(t, &clientcache.ListWatch{
					ListFunc:  func(metav1.ListOptions) (runtime.Object, error) { return nil, hang() },
					WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return nil, hang() },
				}, clientgo.Options{})
				s.informer.Run(make(chan struct{}))
				s.stop()
				if !s.informer.IsStopped() || s.informer.HasSynced() {
					t.Errorf("stopped %v, synced %v", s.informer.IsStopped(), s.informer.HasSynced())
				}
			})
		})
	}
}

// Run waits for a handler's call, however long that takes.
func TestFact13RunWaitsForHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resume := make(chan struct{})
		var returned atomic.Bool
		s := run(t, newServer("a"), clientgo.Options{}, func(informer clientcache.SharedIndexInformer) {
			if _, err := informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) {
				<-resume
				returned.Store(true)
			}}); err != nil {
				t.Error(err)
			}
		})
		s.cancel()
		<-time.After(time.Hour)
		if !s.informer.IsStopped() {
			t.Error("it is not stopped")
		}
		select {
		case <-s.stopped:
			t.Error("Run has returned while a handler was called")
		default:
		}
		close(resume)
		<-s.stopped
		if !returned.Load() {
			t.Error("Run has not waited")
		}
	})
}

// A stop channel that is closed already makes an informer that is stopped.
func TestFact13StoppedBeforeItRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := clientgo.NewSharedIndexInformer(newServer("a"), &corev1.Pod{}, 0, nil)
		if informer.IsStopped() {
			t.Error("stopped before Run")
		}
		stop := make(chan struct{})
		close(stop)
		informer.Run(stop)
		if !informer.IsStopped() || informer.HasSynced() {
			t.Error("not stopped, or synced")
		}
	})
}

// HasSynced is true once the store and its indexes hold all of the initial state.
func TestFact13SyncedMeansStoreAndIndexes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a", "b", "c")
		s := &scene{t: t, informer: clientgo.NewSharedIndexInformer(server, &corev1.Pod{}, 0, clientcache.Indexers{"name": byName})}
		looked := make(chan struct{})
		go func() {
			defer close(looked)
			<-s.informer.HasSyncedChecker().Done()
			indexer := s.informer.GetIndexer()
			if got := len(indexer.ListIndexFuncValues("name")); got != 3 || len(indexer.List()) != 3 || !s.informer.HasSynced() || !s.informer.GetController().HasSynced() {
				t.Errorf("synced with %d values and %d objects", got, len(indexer.List()))
			}
		}()
		s.start()
		<-looked
	})
}

// A registration has synced when OnAdd has returned for the whole initial list.
func TestFact14RegistrationSyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := make(chan struct{})
		slow := clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-steps }}
		var early clientcache.ResourceEventHandlerRegistration
		s := run(t, newServer("a", "b"), clientgo.Options{}, func(informer clientcache.SharedIndexInformer) {
			early, _ = informer.AddEventHandler(slow)
		})
		late, err := s.informer.AddEventHandler(slow)
		if err != nil {
			t.Fatal(err)
		}
		if !s.informer.HasSynced() || !s.handle.HasSynced() {
			t.Error("the informer or its other handler waits for the slow one")
		}
		for range 4 {
			if early.HasSynced() && late.HasSynced() {
				t.Error("synced before OnAdd has returned for each")
			}
			steps <- struct{}{}
			synctest.Wait()
		}
		if !early.HasSynced() || !late.HasSynced() || !clientcache.IsDone(late.HasSyncedChecker()) {
			t.Error("not synced")
		}
		if got := late.HasSyncedChecker().Name(); !strings.HasPrefix(got, "SharedIndexInformer *v1.Pod + event handler ") {
			t.Errorf("the checker is called %q", got)
		}
	})
}

// Handlers go at any time, several times, and from whom they do not belong to.
func TestFact14HandlersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		s := run(t, server, clientgo.Options{})
		s.expect("A a@2 initial")
		other := clientgo.NewSharedIndexInformer(server, &corev1.Pod{}, 0, nil)
		if err := other.RemoveEventHandler(s.handle); err != nil {
			t.Errorf("removed from another informer: %v", err)
		}
		server.Create(pod("b"))
		s.expect("A b@3")
		for range 2 {
			if err := s.informer.RemoveEventHandler(s.handle); err != nil {
				t.Errorf("removed: %v", err)
			}
		}
		server.Create(pod("c"))
		s.expect()
		if err := s.informer.RemoveEventHandler(nil); err == nil {
			t.Error("what is no handle is no error")
		}
		stays, err := s.informer.AddEventHandler(&noted{})
		if err != nil {
			t.Error(err)
		}
		s.stop()
		for range 2 {
			if err := s.informer.RemoveEventHandler(stays); err != nil {
				t.Errorf("removed after the end: %v", err)
			}
		}
		_, err = s.informer.AddEventHandler(&noted{})
		if err == nil || !strings.HasSuffix(err.Error(), "was not added to shared informer because it has stopped already") {
			t.Errorf("a handler after the end: %v", err)
		}
	})
}

// RemoveEventHandler does not wait for a call that is under way; nothing is told after it.
func TestFact14RemovalDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, resume := 0, make(chan struct{})
		s := run(t, newServer("a", "b"), clientgo.Options{})
		handle, err := s.informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) {
			calls++
			<-resume
		}})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := s.informer.RemoveEventHandler(handle); err != nil {
			t.Error(err)
		}
		close(resume)
		synctest.Wait()
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
	})
}

// A watch error handler is told of each failed attempt, of the list's error and not of the
// WatchList's before it, and of a watch's as it came.
func TestFact16WatchErrorHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errRefused)
		server.InjectWatchFault(2, fake.Fault{Err: errGaveUp})
		server.InjectListFault(1, fake.Fault{Err: forbidden})
		var errs failures
		s := run(t, server, clientgo.Options{}, errs.listen(t))
		if got := errs.all(); len(got) != 1 || !apierrors.IsForbidden(got[0]) {
			t.Errorf("after a WatchList and a list that failed: %v", got)
		}
		<-s.informer.HasSyncedChecker().Done()
		synctest.Wait()
		expired := apierrors.NewResourceExpired("gone")
		server.Send(watch.Event{Type: watch.Error, Object: &expired.ErrStatus})
		server.Create(pod("b"))
		patience(s, "ns/b")
		got := errs.all()
		if last, ok := got[len(got)-1].(*apierrors.StatusError); !ok || last.ErrStatus.Reason != metav1.StatusReasonExpired {
			t.Errorf("the watch's error is %T: %v", got[len(got)-1], got)
		}
	})
}

// client-go's own handler reads the reflector that it is given.
func TestFact16TheReflectorIsThereToBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		server.InjectWatchFault(1, fake.Fault{Err: errRefused})
		server.InjectListFault(1, fake.Fault{Err: errRefused})
		var described string
		s := run(t, server, clientgo.Options{ObjectDescription: "the Pods"}, func(informer clientcache.SharedIndexInformer) {
			if err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *clientcache.Reflector, err error) {
				described = r.TypeDescription()
				clientcache.DefaultWatchErrorHandler(ctx, r, err)
			}); err != nil {
				t.Error(err)
			}
		})
		<-s.informer.HasSyncedChecker().Done()
		if described != "the Pods" {
			t.Errorf("the reflector is of %q", described)
		}
	})
}

// One that blocks holds up the retries, and nothing else; the informer stops without it.
func TestFact16WatchErrorHandlersMayBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		server.InjectWatchFault(1, fake.Fault{Err: errRefused})
		server.InjectListFault(1, fake.Fault{Err: errRefused})
		resume := make(chan struct{})
		defer close(resume)
		s := run(t, server, clientgo.Options{}, func(informer clientcache.SharedIndexInformer) {
			if err := informer.SetWatchErrorHandler(func(*clientcache.Reflector, error) { <-resume }); err != nil {
				t.Error(err)
			}
		})
		s.stop()
	})
}

// A panic in a handler goes through utilruntime, with the handler's own logger. Where it does
// not end the process, the event is passed over, and the next comes a second later.
func TestFact17Panics(t *testing.T) {
	defer func(before bool) { utilruntime.ReallyCrash = before }(utilruntime.ReallyCrash)
	utilruntime.ReallyCrash = false
	synctest.Test(t, func(t *testing.T) {
		var logged strings.Builder
		logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&logged)))
		var told []time.Time
		s := run(t, newServer("a", "b"), clientgo.Options{})
		handle, err := s.informer.AddEventHandlerWithOptions(clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) {
			told = append(told, time.Now())
			if len(told) == 1 {
				panic("the handler's")
			}
		}}, clientcache.HandlerOptions{Logger: &logger})
		if err != nil {
			t.Fatal(err)
		}
		<-handle.HasSyncedChecker().Done()
		if len(told) != 2 || told[1].Sub(told[0]) != time.Second {
			t.Errorf("told at %v", told)
		}
		if text := logged.String(); !strings.Contains(text, "the handler's") || !strings.Contains(text, "lifecycle_test.go") {
			t.Errorf("the handler's logger has %q", text)
		}
	})
}

// Everything runs in a bubble, where a goroutine or a clock from outside would be fatal: all
// of these tests do, this one with everything at once.
func TestFact18InABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		s := run(t, server, clientgo.Options{ResyncPeriod: time.Minute, Packed: true}, func(informer clientcache.SharedIndexInformer) {
			if err := informer.AddIndexers(clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc}); err != nil {
				t.Error(err)
			}
		})
		s.expect("A a@2 initial")
		<-time.After(time.Minute + time.Second)
		s.expect("U a@2")
	})
}
