package cache_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// A resync is an update of each object to itself, once a period, of what is in the
// store and nothing else (P18, C20).
func TestResync(t *testing.T) {
	notes := &eventNotes{}
	underHandler(t, time.Minute, notes, func(r *cachetest.Harness) {
		notes.take()
		for period := range 5 {
			cachetest.Advance(time.Minute)
			if got := notes.take(); got != "Update ns/a a@2 a@2, Update ns/b b@3 b@3, Update ns/c c@4 c@4" {
				t.Errorf("events of period %d: [%s]", period, got)
			}
		}
		cachetest.Advance(30 * time.Second)
		r.Delete("ns/a")
		r.Update(cachetest.Pod("b"))
		synctest.Wait()
		if got := notes.take(); got != "Delete ns/a a@5, Update ns/b b@3 b@6" {
			t.Errorf("events between two: [%s]", got)
		}
		cachetest.Advance(30 * time.Second)
		if got := notes.take(); got != "Update ns/b b@6 b@6, Update ns/c c@4 c@4" {
			t.Errorf("events of the period after: [%s]", got)
		}
		if lists := r.Controller.Status().Lists; lists != 1 {
			t.Errorf("%d lists: a resync does not list", lists)
		}
	})
}

// A resync's update shows one object, old and new.
func TestResyncOldIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		updates := 0
		r.Handler, r.ResyncPeriod = podFuncs{UpdateFunc: func(old, p *corev1.Pod) {
			updates++
			stored, _ := r.Store.GetByKey("ns/" + p.Name)
			if old != p || p != stored {
				t.Errorf("update of %s: old %p, new %p, stored %p", p.Name, old, p, stored)
			}
		}}, time.Second
		r.Run(cache.ReflectorOptions{})
		cachetest.Advance(10 * time.Second)
		if updates != 30 {
			t.Errorf("%d updates in ten periods", updates)
		}
		r.CheckStop()
	})
}

// Changes made while a handler works through a resync come after it, each from the
// state that the handler was told last; nothing is told of what is deleted.
func TestChangesDuringAResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		var mu sync.Mutex // guards log: nothing else orders the test and what a timer wakes
		var log []string
		note := func(word string) (n int) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, word)
			return len(log)
		}
		told := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(log)
		}
		inResync := make(chan struct{})
		resume := make(chan struct{})
		r.Handler, r.ResyncPeriod = podFuncs{
			AddFunc: func(p *corev1.Pod) { note("A " + cachetest.NameAtVersion(p)) },
			UpdateFunc: func(old, p *corev1.Pod) {
				if note(fmt.Sprintf("U %s→%s", cachetest.NameAtVersion(old), p.ResourceVersion)) == 4 {
					close(inResync)
					<-resume
				}
			},
			DeleteFunc: func(p *corev1.Pod) { note("D " + cachetest.NameAtVersion(p)) },
		}, time.Minute
		r.Run(cache.ReflectorOptions{})
		<-inResync // with a told
		r.Update(cachetest.Pod("a"))
		r.Delete("ns/b")
		r.Create(cachetest.Pod("d"))
		synctest.Wait()
		close(resume)
		cachetest.Advance(time.Minute - time.Nanosecond)
		want := "[A a@2 A b@3 A c@4 U a@2→2 U b@3→3 U c@4→4 U a@2→5 D b@6 A d@7]"
		if got := fmt.Sprint(told()); got != want {
			t.Errorf("events %s, want %s", got, want)
		}
		cachetest.Advance(time.Second)
		want += " [U a@5→5 U c@4→4 U d@7→7]"
		if got := fmt.Sprint(told()[:9], told()[9:]); got != want {
			t.Errorf("events %s, want %s", got, want)
		}
		r.CheckStop()
	})
}

// A handler that is behind is told what it has missed before a resync, in order.
func TestResyncOfASlowHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		told := make(map[string]string)
		var slow atomic.Bool // read by the handler, whom a timer wakes and nothing orders
		slow.Store(true)
		note := func(old, p *corev1.Pod) {
			if old != nil && told[p.Name] != old.ResourceVersion {
				t.Errorf("update of %s from %s, told was %s", p.Name, old.ResourceVersion, told[p.Name])
			}
			told[p.Name] = p.ResourceVersion
			if slow.Load() {
				<-time.After(7 * time.Second)
			}
		}
		r.Handler, r.ResyncPeriod = podFuncs{
			AddFunc:    func(p *corev1.Pod) { note(nil, p) },
			UpdateFunc: note,
			DeleteFunc: func(p *corev1.Pod) {
				if told[p.Name] == "" {
					t.Errorf("deletion of %s, which is not there", p.Name)
				}
				delete(told, p.Name)
			},
		}, 5*time.Second
		r.Run(cache.ReflectorOptions{})
		for range 50 {
			r.Update(cachetest.Pod("a"))
			r.Delete("ns/b")
			r.Create(cachetest.Pod("b"))
			cachetest.Advance(time.Second)
		}
		slow.Store(false)
		cachetest.Advance(time.Minute)
		for _, p := range r.Store.List() {
			if told[p.Name] != p.ResourceVersion {
				t.Errorf("told %s@%s, stored %s", p.Name, told[p.Name], cachetest.NameAtVersion(p))
			}
		}
		if len(told) != r.Store.Len() {
			t.Errorf("told of %d objects, %d stored", len(told), r.Store.Len())
		}
		r.CheckStop()
	})
}
