// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestInformerFilter checks that rejected objects are not stored, and that an object that is no
// longer accepted is deleted.
func TestInformerFilter(t *testing.T) {
	recorder := &eventRecorder{}
	accept := func(p *corev1.Pod) bool {
		if p.Labels["x"] == "panic" {
			panic("filter error")
		}
		return p.Labels["x"] != "no"
	}
	runShared(t, cache.InformerOptions[*corev1.Pod]{Filter: accept}, func(s *sharedHarness) {
		s.expect(recorder, "Addi ns/a a@2, Addi ns/b b@3, Addi ns/c c@4")
		s.Update(cachetest.Pod("a", cachetest.WithLabel("x", "no")))
		s.expect(recorder, "Deleted ns/a a@5")
		s.Update(cachetest.Pod("a", cachetest.WithLabel("x", "no")))
		s.Create(cachetest.Pod("d", cachetest.WithLabel("x", "no")))
		s.Delete("ns/d")
		s.expect(recorder, "")
		s.Update(cachetest.Pod("a"))
		s.expect(recorder, "Add ns/a a@9")
		s.Delete("ns/a")
		s.expect(recorder, "Delete ns/a a@10")
		s.ExpectNoError()
		s.Update(cachetest.Pod("b", cachetest.WithLabel("x", "panic")))
		s.expect(recorder, "")
		s.ExpectError(cachetest.ErrorContains("filter: panic: filter error"))
		s.Update(cachetest.Pod("b"))
		s.expect(recorder, "Update ns/b b@3 b@12")
		s.Expire()
		s.Update(cachetest.Pod("b", cachetest.WithLabel("x", "no")))
		s.Create(cachetest.Pod("e", cachetest.WithLabel("x", "no")))
		cachetest.Advance(2 * time.Second)
		s.expect(recorder, "Deleted ns/b b@12")
		if got := cachetest.Describe(s.SharedInformer.Store().List()); got != "c@4" {
			t.Errorf("stored [%s]", got)
		}
		s.Send(watch.Event{Type: watch.Added, Object: cachetest.Pod("e", cachetest.WithLabel("x", "no"), cachetest.WithVersion("14"))}) // replayed
		synctest.Wait()
		if errs := s.TakeErrors(); len(errs) > 1 {
			t.Errorf("errors reported: %v", errs)
		}
	}, func(s *sharedHarness) { s.add(recorder, cache.HandlerOptions{}) })
}

// TestFilterIsNotCalledForUnchangedObjects relists. The filter has passed the objects in their
// versions before.
func TestFilterIsNotCalledForUnchangedObjects(t *testing.T) {
	for name, watchList := range map[string]bool{"list": false, "WatchList": true} {
		t.Run(name, func(t *testing.T) {
			var filtered []string
			accept := func(p *corev1.Pod) bool {
				filtered = append(filtered, cachetest.NameAtVersion(p))
				return true
			}
			runShared(t, cache.InformerOptions[*corev1.Pod]{Filter: accept, WatchList: watchList}, func(s *sharedHarness) {
				s.Expire()
				s.Update(cachetest.Pod("a"))
				cachetest.Advance(2 * time.Minute)
				if got := strings.Join(filtered, " "); got != "a@2 b@3 c@4 a@5" {
					t.Errorf("the filter received [%s], want the initial objects and a@5", got)
				}
			})
		})
	}
}

// TestInformerTransform checks that transformed objects are stored, and that an invalid result is
// an error on that object only.
func TestInformerTransform(t *testing.T) {
	recorder := &eventRecorder{}
	calls := 0
	transform := func(p *corev1.Pod) (*corev1.Pod, error) {
		calls++
		switch p.Labels["x"] {
		case "fail":
			return nil, errors.New("transform error")
		case "nil":
			return nil, nil //nolint:nilnil // an invalid result
		case "rename":
			p.Name = "other"
		case "panic":
			panic("transform panic")
		}
		p.Spec, p.UID, p.ResourceVersion = corev1.PodSpec{}, "", ""
		p.Annotations = map[string]string{"transformed": "yes"}
		return p, nil
	}
	runShared(t, cache.InformerOptions[*corev1.Pod]{Transform: transform}, func(s *sharedHarness) {
		s.expect(recorder, "Addi ns/a a@, Addi ns/b b@, Addi ns/c c@")
		for i, bad := range []string{"fail", "nil", "rename", "panic"} {
			s.Update(cachetest.Pod("a", cachetest.WithLabel("x", bad)))
			s.expect(recorder, "")
			s.ExpectError(cachetest.ErrorContains([]string{"transform error", "the result is nil", `has key "ns/other"`, "panic: transform panic"}[i]))
			if p, ok := s.SharedInformer.Store().GetByKey("ns/a"); !ok || len(p.Labels) != 0 || p.Annotations["transformed"] == "" {
				t.Errorf("the last good state of a is %v", p)
			}
		}
		s.Update(cachetest.Pod("a", cachetest.WithLabel("x", "good")))
		s.expect(recorder, "Update ns/a a@ a@")
		calls = 0
		s.Expire()
		s.Update(cachetest.Pod("b"))
		cachetest.Advance(2 * time.Second)
		s.expect(recorder, "Update ns/b b@ b@")
		if calls != 1 {
			t.Errorf("%d calls for a new object and two unchanged ones", calls)
		}
		s.Delete("ns/b")
		s.expect(recorder, "Delete ns/b b@")
	}, func(s *sharedHarness) { s.add(recorder, cache.HandlerOptions{}) })
}

// TestTransformThatDependsOnTheTimeCausesNoUpdates relists objects that have not changed, with a
// transform that makes another result of an object each time.
func TestTransformThatDependsOnTheTimeCausesNoUpdates(t *testing.T) {
	n := 0
	transform := func(c *corev1.ConfigMap) (*corev1.ConfigMap, error) {
		n++
		c.Annotations = map[string]string{"received": fmt.Sprint(n)}
		return c, nil
	}
	synctest.Test(t, func(t *testing.T) {
		i := newScopedInformerWith(t, cache.InformerOptions[*corev1.ConfigMap]{Transform: transform})
		began := time.Now()
		start(t, i)
		for n := range 100 {
			i.server.Create(configMap(fmt.Sprintf("a/%02d", n)))
		}
		// Had the server lost changes of the last minutes, a list that compares all contents would
		// follow.
		<-time.After(10 * time.Minute)
		i.takeEvents()
		lists := i.Status().Requests.Lists
		for range 5 {
			i.server.SkipVersions(10)
			i.server.TruncateWatchCache()
			i.server.CloseWatches()
			<-time.After(10 * time.Minute)
		}
		updates := 0
		for _, e := range i.takeEvents() {
			if strings.HasPrefix(e, "Update") {
				updates++
			}
		}
		t.Logf("%d lists, %d updates, relists %v", i.Status().Requests.Lists-lists, updates, i.Status().Requests.Relists)
		if updates > 0 {
			t.Errorf("%d updates of objects that did not change", updates)
			for _, q := range i.server.Requests() {
				t.Logf("%v %s %v", q.Time.Sub(began), q.Verb, &q.Options)
			}
		}
	})
}
