package clientgo_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
)

// relist makes the watch end so that the collection is listed again.
func (s *server) relist() {
	expired := apierrors.NewResourceExpired("gone")
	s.Send(watch.Event{Type: watch.Error, Object: &expired.ErrStatus})
	<-time.After(2 * time.Minute)
	synctest.Wait()
}

// away changes the server while nobody watches, and has the informer list again.
func (s *server) away(change func()) {
	hold := make(chan struct{})
	s.InjectWatchFault(1, fake.Fault{Hold: hold, Err: apierrors.NewResourceExpired("gone")})
	s.CloseWatches()
	<-time.After(time.Minute)
	synctest.Wait()
	change()
	close(hold)
	<-time.After(2 * time.Minute)
	synctest.Wait()
}

// The store holds a change before a handler hears of it, and is at the version of a deletion.
func TestFact19TheStoreIsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		var informer clientcache.SharedIndexInformer
		seen := map[string]string{}
		look := func(verb string, obj any) {
			_, ok, _ := informer.GetIndexer().Get(obj)
			seen[verb] = fmt.Sprint(ok, " ", informer.GetIndexer().LastStoreSyncResourceVersion())
		}
		run(t, server, clientgo.Options{}, func(made clientcache.SharedIndexInformer) {
			informer = made
			if _, err := made.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
				AddFunc:    func(obj any) { look("add", obj) },
				UpdateFunc: func(_, obj any) { look("update", obj) },
				DeleteFunc: func(obj any) { look("delete "+obj.(*corev1.Pod).ResourceVersion, obj) },
			}); err != nil {
				t.Error(err)
			}
		})
		server.Update(labelled(pod("a"), "v", "1"))
		synctest.Wait()
		server.Delete("ns/a")
		synctest.Wait()
		if got := fmt.Sprint(seen); got != "map[add:true 2 delete 4:false 4 update:true 3]" {
			t.Errorf("handlers saw %s", got)
		}
	})
}

// Every event is told, however far a handler is behind, unless it is to be merged.
func TestFact20EveryEventIsTold(t *testing.T) {
	const updates = 12_000
	for _, delivery := range []cache.Delivery{"", cache.EveryEvent, cache.CoalesceWhenBehind} {
		t.Run(string(delivery), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := newScripted()
				resume := make(chan struct{})
				var adds, told atomic.Int64
				run(t, source, clientgo.Options{Delivery: delivery}, func(informer clientcache.SharedIndexInformer) {
					if _, err := informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
						AddFunc:    func(any) { <-resume; adds.Add(1) },
						UpdateFunc: func(any, any) { told.Add(1) },
					}); err != nil {
						t.Error(err)
					}
				})
				source.send(watch.Added, versioned(pod("a"), 10))
				for i := range updates {
					source.send(watch.Modified, versioned(pod("a"), 11+i))
				}
				synctest.Wait()
				close(resume)
				synctest.Wait()
				if merged := told.Load() < updates; adds.Load() != 1 || merged != (delivery == cache.CoalesceWhenBehind) {
					t.Errorf("told %d additions and %d of %d updates", adds.Load(), told.Load(), updates)
				}
			})
		})
	}
}

// An Add and an Update close together stay two events, within one relist too where they are
// of different objects.
func TestFact20AddAndUpdateStayTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		s := run(t, server, clientgo.Options{})
		server.Create(pod("a"))
		server.Update(labelled(pod("a"), "v", "1"))
		now := metav1.Now()
		terminating := labelled(pod("a"), "v", "2")
		terminating.DeletionTimestamp = &now
		server.Update(terminating)
		server.Delete("ns/a")
		s.expect("A a@2", "U a@3", "U a@4", "D a@5")
	})
}

// An object of another UID is another object, seen on the watch or at a relist.
func TestFact21AnotherUIDIsAnotherObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a", "b")
		s := run(t, server, clientgo.Options{})
		s.expect("A a@2 initial", "A b@3 initial")
		server.Delete("ns/a")
		server.Create(pod("a"))
		s.expect("D a@4", "A a@5")
		server.away(func() {
			server.Delete("ns/b")
			server.Create(pod("b"))
		})
		s.expect("T ns/b b@3", "A b@7")
	})
}

// A deletion found at a relist is a tombstone, passed by value, with the last known state; it
// comes before what else the relist has found, and none of that is initial.
func TestFact22Tombstones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a", "b")
		s := run(t, server, clientgo.Options{})
		s.expect("A a@2 initial", "A b@3 initial")
		server.away(func() {
			server.Create(pod("c"))
			server.Delete("ns/a")
			server.Update(labelled(pod("b"), "v", "1"))
		})
		s.expect("T ns/a a@2", "U b@6", "A c@4")
		if _, ok := s.last.(clientcache.DeletedFinalStateUnknown); !ok {
			t.Errorf("OnDelete was given %T", s.last)
		}
		server.Delete("ns/b")
		s.expect("D b@7")
		if deleted, ok := s.last.(*corev1.Pod); !ok || deleted.UID == "" {
			t.Errorf("OnDelete was given %v", s.last)
		}
	})
}

// A late handler is told of what there is, as of an initial list, and then of what changes.
func TestFact23LateHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		resume := make(chan struct{})
		defer close(resume)
		s := run(t, server, clientgo.Options{})
		s.expect("A a@2 initial")
		if _, err := s.informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-resume }}); err != nil {
			t.Fatal(err)
		}
		late := &noted{}
		if _, err := s.informer.AddEventHandler(late); err != nil {
			t.Fatal(err)
		}
		server.Update(labelled(pod("a"), "v", "1"))
		s.expect("U a@3")
		if got := fmt.Sprint(late.take()); got != "[A a@2 initial U a@3]" {
			t.Errorf("the late handler was told %s", got)
		}
	})
}

// Each handler has its own resync period; nobody else is told, and no transform runs.
func TestFact24Resync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var transformed atomic.Int32
		short, none := &noted{}, &noted{}
		s := run(t, newServer("a"), clientgo.Options{ResyncPeriod: 3 * time.Minute}, func(informer clientcache.SharedIndexInformer) {
			if err := informer.SetTransform(func(obj any) (any, error) {
				transformed.Add(1)
				return obj, nil
			}); err != nil {
				t.Error(err)
			}
			for handler, period := range map[*noted]time.Duration{short: time.Minute, none: 0} {
				if _, err := informer.AddEventHandlerWithResyncPeriod(handler, period); err != nil {
					t.Error(err)
				}
			}
		})
		<-time.After(4*time.Minute - time.Second)
		synctest.Wait()
		for handler, want := range map[*noted]string{
			&s.noted: "[A a@2 initial U a@2]",
			short:    "[A a@2 initial U a@2 U a@2 U a@2]",
			none:     "[A a@2 initial]",
		} {
			if got := fmt.Sprint(handler.take()); got != want {
				t.Errorf("a handler was told %s, want %s", got, want)
			}
		}
		if got := transformed.Load(); got != 1 {
			t.Errorf("%d transforms", got)
		}
	})
}

// A period of less than a second is a second.
func TestFact24ShortResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := &noted{}
		run(t, newServer("a"), clientgo.Options{}, func(informer clientcache.SharedIndexInformer) {
			if _, err := informer.AddEventHandlerWithResyncPeriod(handler, time.Millisecond); err != nil {
				t.Error(err)
			}
		})
		<-time.After(2*time.Second + 500*time.Millisecond)
		synctest.Wait()
		if got := fmt.Sprint(handler.take()); got != "[A a@2 initial U a@2 U a@2]" {
			t.Errorf("the handler was told %s", got)
		}
	})
}

// A relist of what has not changed is silence, unless client-go's way is asked for.
func TestFact24RelistUpdates(t *testing.T) {
	for name, asked := range map[string]bool{"ours": false, "client-go's": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer("a")
				s := run(t, server, clientgo.Options{RelistUpdates: asked})
				s.expect("A a@2 initial")
				server.relist()
				if asked {
					s.expect("U a@2")
				} else {
					s.expect()
				}
			})
		})
	}
}

// A transform runs once for each object received, and may rename it, change its type, and
// clear what identifies it: later states and the deletion are found all the same.
func TestFact25Transforms(t *testing.T) {
	for _, packed := range []bool{false, true} {
		t.Run(fmt.Sprintf("packed=%v", packed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer("a")
				var calls atomic.Int32
				s := run(t, server, clientgo.Options{Packed: packed, Indexers: clientcache.Indexers{"name": byName}}, func(informer clientcache.SharedIndexInformer) {
					if err := informer.SetTransform(func(obj any) (any, error) {
						calls.Add(1)
						pod := obj.(*corev1.Pod)
						pod.Name, pod.Namespace = "renamed-"+pod.Name, "elsewhere"
						pod.ResourceVersion, pod.UID = "", ""
						return pod, nil
					}); err != nil {
						t.Error(err)
					}
				})
				server.Create(pod("b"))
				synctest.Wait()
				server.Update(labelled(pod("a"), "v", "1"))
				synctest.Wait()
				server.Delete("ns/b")
				s.expect("A renamed-a initial", "A renamed-b", "U renamed-a", "D renamed-b")
				if got := calls.Load(); got != 4 {
					t.Errorf("%d transforms", got)
				}
				found, err := s.informer.GetIndexer().ByIndex("name", "renamed-a")
				if err != nil || len(found) != 1 || found[0].(*corev1.Pod).Labels["v"] != "1" {
					t.Errorf("the index finds %v, %v", found, err)
				}
				if keys := s.informer.GetStore().ListKeys(); len(keys) != 1 || keys[0] != "elsewhere/renamed-a" {
					t.Errorf("the store has %q", keys)
				}
				server.relist()
				s.expect()
			})
		})
	}
}

// A transform may make something else of an object.
func TestFact25TransformsToAnotherType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		s := run(t, server, clientgo.Options{}, func(informer clientcache.SharedIndexInformer) {
			if err := informer.SetTransform(func(obj any) (any, error) {
				meta := obj.(*corev1.Pod).ObjectMeta
				return &metav1.PartialObjectMetadata{ObjectMeta: meta}, nil
			}); err != nil {
				t.Error(err)
			}
		})
		obj, _, _ := s.informer.GetStore().GetByKey("ns/a")
		if _, ok := obj.(*metav1.PartialObjectMetadata); !ok {
			t.Errorf("the store has %T", obj)
		}
		server.Delete("ns/a")
		s.expect("A a@2 initial", "D a@3")
	})
}

// One that fails, panics or returns nothing costs that object's new state, not the list.
func TestFact25TransformsThatFail(t *testing.T) {
	for name, fail := range map[string]func() (any, error){
		"error": func() (any, error) { return nil, errRefused },
		"panic": func() (any, error) { panic("transform") },
		"nil":   func() (any, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer("a", "bad")
				s := run(t, server, clientgo.Options{}, func(informer clientcache.SharedIndexInformer) {
					if err := informer.SetTransform(func(obj any) (any, error) {
						if obj.(*corev1.Pod).Name == "bad" {
							return fail()
						}
						return obj, nil
					}); err != nil {
						t.Error(err)
					}
				})
				<-s.informer.HasSyncedChecker().Done()
				s.expect("A a@2 initial")
			})
		})
	}
}
