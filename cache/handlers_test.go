// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestHandlerReceivesEveryEvent checks the events of the initial list, of watches and of a relist.
func TestHandlerReceivesEveryEvent(t *testing.T) {
	recorder := &eventRecorder{}
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		s.expect(recorder, "Addi ns/a a@2, Addi ns/b b@3, Addi ns/c c@4")
		s.Update(cachetest.Pod("a"))
		s.Create(cachetest.Pod("d"))
		s.Delete("ns/b")
		s.expect(recorder, "Update ns/a a@2 a@5, Add ns/d d@6, Delete ns/b b@7")
		s.Expire()
		s.Delete("ns/c")
		s.Create(cachetest.Pod("e"))
		cachetest.Advance(2 * time.Second)
		s.expect(recorder, "Delete ns/c c@4, Add ns/e e@9")
	}, func(s *sharedHarness) { s.add(recorder, cache.HandlerOptions{}) })
}

// TestEventObjectIsLatestState calls Event.Object for each type of event.
func TestEventObjectIsLatestState(t *testing.T) {
	a, b := cachetest.Pod("a"), cachetest.Pod("b")
	for _, c := range []struct {
		event cache.Event[*corev1.Pod]
		want  *corev1.Pod
	}{
		{cache.Event[*corev1.Pod]{Type: cache.EventAdd, New: a}, a},
		{cache.Event[*corev1.Pod]{Type: cache.EventUpdate, Old: a, New: b}, b},
		{cache.Event[*corev1.Pod]{Type: cache.EventDelete, Old: a, Final: b}, b},
	} {
		if got := c.event.Object(); got != c.want {
			t.Errorf("%s: %v", c.event.Type, got)
		}
	}
}

// TestHandlerFuncs calls the function handlers with each type of event.
func TestHandlerFuncs(t *testing.T) {
	a, b := cachetest.Pod("a", cachetest.WithVersion("1")), cachetest.Pod("a", cachetest.WithVersion("2"))
	events := []cache.Event[*corev1.Pod]{
		{Type: cache.EventAdd, New: a, InInitialList: true}, {Type: cache.EventAdd, New: a},
		{Type: cache.EventUpdate, Old: a, New: b}, {Type: cache.EventDelete, Old: a, Final: b},
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
	for _, event := range events { // without functions, events are ignored
		podFuncs{}.OnEvent(event)
	}
}

// TestFilteringHandler checks that each event is delivered as what it is for the accepted objects.
func TestFilteringHandler(t *testing.T) {
	recorder := &eventRecorder{}
	filter := cache.FilteringResourceEventHandler[*corev1.Pod]{
		FilterFunc: func(p *corev1.Pod) bool { return p.Labels["mine"] == "yes" },
		Handler:    recorder,
	}
	mine, others := cachetest.WithLabel("mine", "yes"), cachetest.WithLabel("mine", "no")
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		s.expect(recorder, "")
		s.Create(cachetest.Pod("d", others))
		s.Update(cachetest.Pod("d", others))
		s.Delete("ns/d")
		s.expect(recorder, "")
		s.Update(cachetest.Pod("a", mine))
		s.expect(recorder, "Add ns/a a@8")
		s.Update(cachetest.Pod("a", mine))
		s.expect(recorder, "Update ns/a a@8 a@9")
		s.Update(cachetest.Pod("a", others))
		s.expect(recorder, "Deleted ns/a a@10")
		s.Update(cachetest.Pod("a", others))
		s.expect(recorder, "")
		s.Create(cachetest.Pod("e", mine))
		s.Delete("ns/e")
		s.expect(recorder, "Add ns/e e@12, Delete ns/e e@13")

		// The filter does not accept the state at deletion. The handler has received the object, so
		// it receives the deletion.
		s.Create(cachetest.Pod("f", mine))
		s.SkipVersions(10)
		final := s.Update(cachetest.Pod("f", mine))
		final.Labels = map[string]string{"mine": "no"}
		final.ResourceVersion = "26"
		s.Send(watch.Event{Type: watch.Deleted, Object: final})
		s.expect(recorder, "Add ns/f f@14, Update ns/f f@14 f@25, Delete ns/f f@26")
		// The filter accepts only the state at deletion, so the handler receives nothing.
		final = s.Create(cachetest.Pod("g", others))
		final.Labels = map[string]string{"mine": "yes"}
		final.ResourceVersion = "27"
		s.Send(watch.Event{Type: watch.Deleted, Object: final})
		s.expect(recorder, "")
	}, func(s *sharedHarness) { s.add(filter, cache.HandlerOptions{}) })
}

// TestNestedFilteringHandlers delivers only the objects that both filters accept.
func TestNestedFilteringHandlers(t *testing.T) {
	recorder := &eventRecorder{}
	labelled := func(key string) func(*corev1.Pod) bool {
		return func(p *corev1.Pod) bool { return p.Labels[key] != "" }
	}
	nested := cache.FilteringResourceEventHandler[*corev1.Pod]{FilterFunc: labelled("x"),
		Handler: cache.FilteringResourceEventHandler[*corev1.Pod]{FilterFunc: labelled("y"), Handler: recorder}}
	both := func(p *corev1.Pod) { p.Labels = map[string]string{"x": "1", "y": "1"} }
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		for _, edit := range []func(*corev1.Pod){cachetest.WithLabel("x", "1"), both, cachetest.WithLabel("y", "1"), both, cachetest.WithLabel("x", "1"), both} {
			s.Update(cachetest.Pod("a", edit))
		}
		s.Delete("ns/a")
		s.expect(recorder, "Add ns/a a@6, Deleted ns/a a@7, Add ns/a a@8, Deleted ns/a a@9, Add ns/a a@10, Delete ns/a a@11")
	}, func(s *sharedHarness) { s.add(nested, cache.HandlerOptions{}) })
}

// TestObjectLeavingSelectorIsDeleted changes a Pod so that the label selector of the watch no
// longer matches it. The deletion carries the state that the server sends, which does not match.
func TestObjectLeavingSelectorIsDeleted(t *testing.T) {
	recorder := &eventRecorder{}
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		r.Handler = recorder
		r.Source = &cache.ListWatch{ListFunc: cachetest.WithSelector("app=x", r.List), WatchFunc: cachetest.WithSelector("app=x", r.Watch)}
		r.Run(cache.ReflectorOptions{})
		r.Update(cachetest.Pod("a", cachetest.WithLabel("app", "x")))
		r.Update(cachetest.Pod("a", cachetest.WithLabel("app", "y")))
		synctest.Wait()
		if got := recorder.take(); got != "Add ns/a a@5, Delete ns/a a@6" {
			t.Errorf("events [%s]", got)
		}
		r.CheckStop()
	})
}

// TestStoreHasChangeBeforeHandler reads the store in a handler, which must not block either.
func TestStoreHasChangeBeforeHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		var missing []string
		r.Handler = podFuncs{AddFunc: func(p *corev1.Pod) {
			if stored, ok := r.Store.GetByKey("ns/" + p.Name); !ok || !reflect.DeepEqual(stored, p) {
				missing = append(missing, p.Name)
			}
			if r.Store.Snapshot().Len() != r.Store.Len() {
				missing = append(missing, "snapshot")
			}
		}}
		r.Run(cache.ReflectorOptions{})
		r.Create(cachetest.Pod("d"))
		synctest.Wait()
		if len(missing) > 0 {
			t.Errorf("the store did not have a change that was delivered: %v", missing)
		}
		r.CheckStop()
	})
}
