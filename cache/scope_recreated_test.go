// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// recreated is an informer of the halves of all hashes of UIDs. An object "old" of the lower half
// is deleted, and created again under its name as "new" of the upper half.
type recreated struct {
	*scopedInformer
	lower, upper cache.Scope
	// gates are of the watches that are late: "lower", "upper" and "joined". Their events, or the
	// response to the joined one, wait until the gate is closed. An event that is sent to the gate
	// ends the watch.
	gates   map[string]chan watch.Event
	changes []string // as the handler has received them, since the last call of then
	listed  uint64   // lists before the test
}

const recreatedKey = "a/1"

// runRecreated runs a test with the lower half listed before the upper one. If listed, old exists
// before the first list. Watches are joined only if the joined one is among the late ones.
func runRecreated(t *testing.T, sharded, listed bool, late []string, test func(r *recreated)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		halves := ranges(0, 8, 8, 16)
		server := &joinServer{ListerWatcher: fake.NewListerWatcher(&corev1.ConfigMap{})}
		server.SetShardedListAndWatch(sharded)
		r := &recreated{
			scopedInformer: &scopedInformer{t: t, server: server.ListerWatcher, scopes: cache.NewScopes(halves[0])},
			lower:          halves[0], upper: halves[1], gates: make(map[string]chan watch.Event),
		}
		for _, name := range late {
			r.gates[name] = make(chan watch.Event)
		}
		server.watch = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			name := "upper"
			switch {
			case options.ShardSelector == "": // of all hashes
				name = "joined"
			case strings.Contains(options.ShardSelector, "'0x0000000000000000'"):
				name = "lower"
			}
			gate := r.gates[name]
			if name == "joined" {
				if gate == nil {
					return nil, syscall.ECONNREFUSED
				}
				select {
				case <-gate:
				case <-ctx.Done():
				}
			}
			w, err := server.ListerWatcher.Watch(ctx, options)
			if gate != nil && err == nil {
				w = lateWatch(ctx, w, gate)
			}
			return w, err
		}
		r.SharedInformer = cache.NewSharedInformer(server, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: r.scopes})
		handle(t, r.SharedInformer, r.receive)
		if listed {
			r.create("old")
		}
		start(t, r)
		if err := r.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.scopes.Add(r.upper); err != nil {
			t.Fatal(err)
		}
		if listed {
			r.then("Add old")
		}
		synctest.Wait()
		r.listed, _ = r.requests()
		test(r)
	})
}

// openedLate is a watch whose events come from another channel.
type openedLate struct {
	watch.Interface
	events <-chan watch.Event
}

func (w openedLate) ResultChan() <-chan watch.Event { return w.events }

// lateWatch returns a watch whose events wait for a gate; see recreated.
func lateWatch(ctx context.Context, w watch.Interface, gate <-chan watch.Event) watch.Interface {
	events := make(chan watch.Event)
	send := func(event watch.Event) {
		select {
		case events <- event:
		case <-ctx.Done():
		}
	}
	go func() {
		defer close(events)
		select {
		case last, ok := <-gate:
			if ok {
				send(last)
				return
			}
		case <-ctx.Done():
		}
		for event := range w.ResultChan() {
			send(event)
		}
	}()
	return openedLate{w, events}
}

// receive records an event.
func (r *recreated) receive(e cache.Event[*corev1.ConfigMap]) {
	obj := e.New
	if obj == nil {
		obj = e.Old
	}
	change := fmt.Sprintf("%s %s", e.Type, obj.Labels["is"])
	if e.LeftScope {
		change += " left"
	}
	r.changes = append(r.changes, change)
}

// create creates the object of the lower half, if is begins with "old", or that of the upper one.
func (r *recreated) create(is string) {
	half := r.upper
	if strings.HasPrefix(is, "old") {
		half = r.lower
	}
	obj := configMap(recreatedKey, "is="+is)
	for n := 0; obj.UID == "" || sixteenthOf(obj.UID) < half.Hash.First>>60 || sixteenthOf(obj.UID) > half.Hash.Last>>60; n++ {
		obj.UID = types.UID(fmt.Sprintf("%d-%s", n, is))
	}
	r.server.Create(obj)
}

// recreate deletes the object, and creates another one.
func (r *recreated) recreate(is string) {
	r.server.Delete(recreatedKey)
	r.create(is)
}

// release lets a late watch go on.
func (r *recreated) release(name string) { close(r.gates[name]) }

// then compares the events since its last call, in their order.
func (r *recreated) then(want ...string) {
	r.t.Helper()
	synctest.Wait()
	if got := r.changes; !slices.Equal(got, want) {
		r.t.Errorf("events (-want +got):\n%s", cmp.Diff(want, got))
	}
	r.changes = nil
}

// A name is used again, by an object whose UID is in another range. The watch of the range before
// is late.
func TestNameIsRecreatedInAnotherRange(t *testing.T) {
	for _, row := range []struct {
		name   string
		listed bool // old is in the first list of the lower half
		late   []string
		test   func(r *recreated)
		lists  uint64 // at most, since the upper half was listed
	}{
		{"the old range is late", true, []string{"lower"}, func(r *recreated) {
			r.server.Update(configMap(recreatedKey, "is=old"))
			r.recreate("new")
			r.then("Delete old", "Add new")
			r.release("lower")
			r.then()
		}, 0},
		{"the old range is late with all of the old object", false, []string{"lower"}, func(r *recreated) {
			r.create("old")
			r.recreate("new")
			r.then("Add new")
			r.release("lower")
			r.then()
		}, 0},
		{"the old range is late, and the name returns to it", true, []string{"lower"}, func(r *recreated) {
			r.recreate("new")
			r.recreate("old2")
			r.then("Delete old", "Add new", "Delete new")
			r.release("lower")
			r.then("Add old2")
		}, 0},

		{"the new object is deleted before the old one", true, []string{"lower"}, func(r *recreated) {
			r.server.Update(configMap(recreatedKey, "is=old"))
			r.recreate("new")
			r.server.Delete(recreatedKey)
			r.then("Delete old", "Add new", "Delete new")
			r.release("lower")
			r.then()
		}, 0},
		{"the new object is deleted before the creation of the old one", false, []string{"lower"}, func(r *recreated) {
			r.create("old")
			r.recreate("new")
			r.server.Delete(recreatedKey)
			r.then("Add new", "Delete new")
			r.release("lower")
			r.then()
		}, 0},

		{"the old range is joined", true, []string{"lower", "joined"}, func(r *recreated) {
			r.recreate("new")
			r.then("Delete old", "Add new")
			r.release("joined")
			r.then()
			r.expectWatches(1)
			r.release("lower")
			r.then()
		}, 0},
		{"both ranges are late, and joined", false, []string{"lower", "upper", "joined"}, func(r *recreated) {
			r.create("old")
			r.recreate("new")
			r.then()
			r.release("joined")
			r.then("Add old", "Delete old", "Add new")
			r.expectWatches(1)
			r.release("upper")
			r.release("lower")
			r.then()
		}, 0},
		{"the old range is joined after the new object was deleted", false, []string{"lower", "joined"}, func(r *recreated) {
			r.create("old")
			r.recreate("new")
			r.server.Delete(recreatedKey)
			r.then("Add new", "Delete new")
			r.release("joined")
			r.then()
			r.expectWatches(1)
			r.release("lower")
			r.then()
		}, 0},

		{"the old range is removed", true, []string{"lower"}, func(r *recreated) {
			r.recreate("new")
			r.then("Delete old", "Add new")
			r.remove(r.lower)
			r.then()
			r.release("lower")
			r.then()
		}, 0},
		{"the old range is removed before the new object is received", true, []string{"lower", "upper"}, func(r *recreated) {
			r.recreate("new")
			r.remove(r.lower)
			r.then("Delete old left")
			r.release("lower")
			r.release("upper")
			r.then("Add new")
		}, 0},
		{"the old range is removed and added", false, []string{"lower"}, func(r *recreated) {
			r.create("old")
			r.recreate("new")
			r.server.Delete(recreatedKey)
			r.remove(r.lower)
			_ = r.scopes.Add(r.lower)
			r.then("Add new", "Delete new")
			r.release("lower")
			r.then()
		}, 1},
		{"the new range is removed", false, []string{"lower"}, func(r *recreated) {
			r.create("old")
			r.recreate("new")
			r.then("Add new")
			r.remove(r.upper)
			r.then("Delete new left")
			r.release("lower")
			r.then()
		}, 0},

		{"the old range lists again", true, []string{"lower"}, func(r *recreated) {
			r.recreate("new")
			r.then("Delete old", "Add new")
			r.expire("lower")
			r.then()
			r.release("lower")
			r.then()
		}, 1},
		{"the old range lists the old object again", true, []string{"lower"}, func(r *recreated) {
			older := r.server.ResourceVersion()
			r.recreate("new")
			r.then("Delete old", "Add new")
			r.server.InjectListFault(1, fake.Fault{ResourceVersion: older})
			r.expire("lower")
			r.then()
			r.release("lower")
			r.then()
		}, 1},
		{"the old range lists the old object after the new one was deleted", false, []string{"lower"}, func(r *recreated) {
			r.create("old")
			older := r.server.ResourceVersion()
			r.recreate("new")
			r.server.Delete(recreatedKey)
			r.then("Add new", "Delete new")
			r.server.InjectListFault(1, fake.Fault{ResourceVersion: older})
			r.expire("lower")
			r.then()
			r.release("lower")
			r.then()
		}, 1},

		{"the old range receives late what a restore has undone", true, []string{"lower"}, func(r *recreated) {
			backup := r.server.ResourceVersion()
			r.recreate("new")
			r.then("Delete old", "Add new")
			r.server.Restore(backup)
			r.recreate("new2") // at the same versions
			r.release("lower")
			<-time.After(4 * time.Minute) // watches last 5 minutes at least
			r.then("Delete new", "Add new2")
		}, 3},
		{"the old range is late after a restore that others have noticed", true, []string{"lower"}, func(r *recreated) {
			backup := r.server.ResourceVersion()
			r.recreate("new")
			r.then("Delete old", "Add new")
			r.server.Restore(backup)
			r.recreate("new2")
			<-time.After(time.Minute)
			r.then("Delete new", "Add new2")
			r.release("lower")
			<-time.After(3 * time.Minute)
			r.then()
		}, 3},
		{"the old range is late after a restore that undoes the recreation", true, []string{"lower"}, func(r *recreated) {
			backup := r.server.ResourceVersion()
			r.recreate("new")
			r.then("Delete old", "Add new")
			r.server.Restore(backup)
			<-time.After(time.Minute)
			r.then("Delete new")
			r.release("lower")
			<-time.After(3 * time.Minute)
			r.then("Add old")
		}, 3},
	} {
		for _, sharded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, server with shards: %v", row.name, sharded), func(t *testing.T) {
				runRecreated(t, sharded, row.listed, row.late, func(r *recreated) {
					row.test(r)
					r.expectHeld()
					if now, _ := r.requests(); now > r.listed+row.lists {
						t.Errorf("%d lists, want up to %d", now-r.listed, row.lists)
					}
				})
			})
		}
	}
}

// expire ends a late watch with a 410.
func (r *recreated) expire(name string) {
	synctest.Wait()
	r.gates[name] <- fake.ErrorEvent(fake.Expired())
	<-time.After(time.Second)
}

func (r *recreated) remove(scope cache.Scope) {
	if err := r.scopes.Remove(scope); err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
}

func (r *recreated) expectWatches(want int) {
	r.t.Helper()
	if n := r.server.OpenWatches(); n != want {
		r.t.Errorf("%d watches are open, want %d", n, want)
	}
}

// expectHeld compares the store with the server's objects in the scopes.
func (r *recreated) expectHeld() {
	r.t.Helper()
	all := r.scopes.All()
	from, to := all[0].Hash.First, all[0].Hash.Last
	for _, scope := range all {
		from, to = min(from, scope.Hash.First), max(to, scope.Hash.Last)
	}
	r.expectServed(from>>60, to>>60+1)
}
