package cache_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

func TestEventsOfAHandler(t *testing.T) {
	notes := &eventNotes{}
	underHandler(t, 0, notes, func(r *cachetest.Harness) {
		if got := notes.take(); got != "Addi ns/a a@2, Addi ns/b b@3, Addi ns/c c@4" {
			t.Errorf("initial events [%s]", got)
		}
		r.Update(cachetest.Pod("a"))
		r.Create(cachetest.Pod("d"))
		r.Delete("ns/b")
		synctest.Wait()
		if got := notes.take(); got != "Update ns/a a@2 a@5, Add ns/d d@6, Delete ns/b b@7" {
			t.Errorf("events [%s]", got)
		}
		r.Send(fake.ErrorEvent(fake.Expired()))
		r.Delete("ns/c")
		r.Create(cachetest.Pod("e"))
		cachetest.Advance(2 * time.Second)
		if got := notes.take(); got != "Delete ns/c c@4, Add ns/e e@9" {
			t.Errorf("events of a relist [%s]", got)
		}
	})
}

// Event.Object is the latest state, whatever the type.
func TestEventObject(t *testing.T) {
	a, b := cachetest.Pod("a"), cachetest.Pod("b")
	for _, c := range []struct {
		event cache.Event[*corev1.Pod]
		want  *corev1.Pod
	}{
		{cache.Event[*corev1.Pod]{Type: cache.EventAdd, New: a}, a},
		{cache.Event[*corev1.Pod]{Type: cache.EventUpdate, Old: a, New: b}, b},
		{cache.Event[*corev1.Pod]{Type: cache.EventDelete, Old: b}, b},
	} {
		if got := c.event.Object(); got != c.want {
			t.Errorf("%s: %v", c.event.Type, got)
		}
	}
}

func TestFuncs(t *testing.T) {
	a, b := cachetest.Pod("a", cachetest.WithVersion("1")), cachetest.Pod("a", cachetest.WithVersion("2"))
	events := []cache.Event[*corev1.Pod]{
		{Type: cache.EventAdd, New: a, InInitialList: true}, {Type: cache.EventAdd, New: a},
		{Type: cache.EventUpdate, Old: a, New: b}, {Type: cache.EventDelete, Old: b},
	}
	var calls []string
	note := func(format string, args ...any) { calls = append(calls, fmt.Sprintf(format, args...)) }
	handlers := map[string]cache.EventHandler[*corev1.Pod]{
		"A a@1, A a@1, U a@1 a@2, D a@2": podFuncs{
			AddFunc:    func(p *corev1.Pod) { note("A %s", cachetest.NameAtVersion(p)) },
			UpdateFunc: func(old, p *corev1.Pod) { note("U %s %s", cachetest.NameAtVersion(old), cachetest.NameAtVersion(p)) },
			DeleteFunc: func(p *corev1.Pod) { note("D %s", cachetest.NameAtVersion(p)) },
		},
		"A a@1 true, A a@1 false, U a@1 a@2, D a@2": cache.EventHandlerFunc[*corev1.Pod](func(e cache.Event[*corev1.Pod]) {
			switch e.Type {
			case cache.EventAdd:
				note("A %s %v", cachetest.NameAtVersion(e.New), e.InInitialList)
			case cache.EventUpdate:
				note("U %s %s", cachetest.NameAtVersion(e.Old), cachetest.NameAtVersion(e.New))
			case cache.EventDelete:
				note("D %s", cachetest.NameAtVersion(e.Object()))
			}
		}),
	}
	for want, handler := range handlers {
		calls = nil
		for _, event := range events {
			handler.OnEvent(event)
		}
		if got := strings.Join(calls, ", "); got != want {
			t.Errorf("%T: calls [%s], want [%s]", handler, got, want)
		}
	}
	for _, event := range events { // nothing to call is no fault
		podFuncs{}.OnEvent(event)
	}
}

// A filter passes on what concerns the objects that it accepts, each as what it is
// for the filtered collection.
func TestFilter(t *testing.T) {
	notes := &eventNotes{}
	filter := cache.FilteringResourceEventHandler[*corev1.Pod]{
		FilterFunc: func(p *corev1.Pod) bool { return p.Labels["mine"] == "yes" },
		Handler:    notes,
	}
	mine, others := cachetest.WithLabel("mine", "yes"), cachetest.WithLabel("mine", "no")
	underHandler(t, 0, filter, func(r *cachetest.Harness) {
		expect := func(want string) {
			t.Helper()
			synctest.Wait()
			if got := notes.take(); got != want {
				t.Errorf("events [%s], want [%s]", got, want)
			}
		}
		expect("")
		r.Create(cachetest.Pod("d", others))
		r.Update(cachetest.Pod("d", others))
		r.Delete("ns/d")
		expect("")
		r.Update(cachetest.Pod("a", mine))
		expect("Add ns/a a@8")
		r.Update(cachetest.Pod("a", mine))
		expect("Update ns/a a@8 a@9")
		r.Update(cachetest.Pod("a", others))
		expect("Deleted ns/a a@9")
		r.Update(cachetest.Pod("a", others))
		expect("")
		r.Create(cachetest.Pod("e", mine))
		r.Delete("ns/e")
		expect("Add ns/e e@12, Delete ns/e e@13")

		// The state in which it is deleted is not one that the filter accepts: the
		// handler was told of the object, and must be told of its end.
		r.Create(cachetest.Pod("f", mine))
		r.SkipVersions(10)
		gone := r.Update(cachetest.Pod("f", mine))
		gone.Labels = map[string]string{"mine": "no"}
		gone.ResourceVersion = "26"
		r.Send(watchEvent(deleted, gone))
		expect("Add ns/f f@14, Update ns/f f@14 f@25, Delete ns/f f@26")
		// And the other way round: one that was not mine is not deleted for me.
		stranger := r.Create(cachetest.Pod("g", others))
		stranger.Labels = map[string]string{"mine": "yes"}
		stranger.ResourceVersion = "27"
		r.Send(watchEvent(deleted, stranger))
		expect("")
	})
}

// Filters nest.
func TestFilterInAFilter(t *testing.T) {
	notes := &eventNotes{}
	labelled := func(key string) func(*corev1.Pod) bool {
		return func(p *corev1.Pod) bool { return p.Labels[key] != "" }
	}
	nested := cache.FilteringResourceEventHandler[*corev1.Pod]{FilterFunc: labelled("x"),
		Handler: cache.FilteringResourceEventHandler[*corev1.Pod]{FilterFunc: labelled("y"), Handler: notes}}
	both := func(p *corev1.Pod) { p.Labels = map[string]string{"x": "1", "y": "1"} }
	underHandler(t, 0, nested, func(r *cachetest.Harness) {
		for _, edit := range []func(*corev1.Pod){cachetest.WithLabel("x", "1"), both, cachetest.WithLabel("y", "1"), both, cachetest.WithLabel("x", "1"), both} {
			r.Update(cachetest.Pod("a", edit))
		}
		r.Delete("ns/a")
		synctest.Wait()
		want := "Add ns/a a@6, Deleted ns/a a@6, Add ns/a a@8, Deleted ns/a a@8, Add ns/a a@10, Delete ns/a a@11"
		if got := notes.take(); got != want {
			t.Errorf("events [%s], want [%s]", got, want)
		}
	})
}

const deleted = watch.Deleted

func watchEvent(eventType watch.EventType, p *corev1.Pod) watch.Event {
	return watch.Event{Type: eventType, Object: p}
}

// Objects leaving a selector are deleted, in the state that no longer matches, as the
// server tells it (W30).
func TestObjectsThatLeaveTheSelector(t *testing.T) {
	notes := &eventNotes{}
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		r.Handler = notes
		r.Source = &cache.ListWatch{ListFunc: cachetest.WithSelector("app=x", r.List), WatchFunc: cachetest.WithSelector("app=x", r.Watch)}
		r.Run(cache.ReflectorOptions{})
		r.Update(cachetest.Pod("a", cachetest.WithLabel("app", "x")))
		r.Update(cachetest.Pod("a", cachetest.WithLabel("app", "y")))
		synctest.Wait()
		if got := notes.take(); got != "Add ns/a a@5, Delete ns/a a@6" {
			t.Errorf("events [%s]", got)
		}
		r.CheckStop()
	})
}

// A change is in the store before the handler hears of it, and reads in a handler do
// not block (consumers 19).
func TestHandlersReadTheirWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		var behind []string
		r.Handler = podFuncs{AddFunc: func(p *corev1.Pod) {
			if stored, ok := r.Store.GetByKey("ns/" + p.Name); !ok || !reflect.DeepEqual(stored, p) {
				behind = append(behind, p.Name)
			}
			if r.Store.Snapshot().Len() != r.Store.Len() {
				behind = append(behind, "snapshot")
			}
		}}
		r.Run(cache.ReflectorOptions{})
		r.Create(cachetest.Pod("d"))
		synctest.Wait()
		if len(behind) > 0 {
			t.Errorf("the store is behind the handler: %v", behind)
		}
		r.CheckStop()
	})
}
