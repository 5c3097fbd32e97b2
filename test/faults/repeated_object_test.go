// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"errors"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// repeatA returns an EditList that lists Pod a at other versions before the list's own state, which
// is at version 2.
func repeatA(versions ...string) func(runtime.Object) runtime.Object {
	return func(list runtime.Object) runtime.Object {
		pods := list.(*corev1.PodList)
		var repeated []corev1.Pod
		for _, version := range versions {
			pod := pods.Items[0].DeepCopy()
			pod.ResourceVersion = version
			repeated = append(repeated, *pod)
		}
		pods.Items = append(repeated, pods.Items...)
		return pods
	}
}

// expectDuplicate checks that one error was reported, which says that the list has a more than
// once.
func expectDuplicate(h *cachetest.Harness) {
	h.T.Helper()
	var object *cache.ObjectError
	errs := h.TakeErrors()
	if len(errs) != 1 || !errors.As(errs[0], &object) || object.Effect != cache.EffectDuplicate || object.Key != "ns/a" {
		h.T.Errorf("errors %v, want one on ns/a with the effect %s", errs, cache.EffectDuplicate)
	}
}

// If a list has an object more than once, the newest state is stored, whatever their order.
func TestNewestStateOfARepeatedObjectIsStored(t *testing.T) {
	for newest, versions := range map[string][]string{"4": {"4"}, "2": {"1"}, "3": {"3", "1", "2"}} {
		repeat := func(h *cachetest.Harness) { h.InjectListFault(1, fake.Fault{EditList: repeatA(versions...)}) }
		cachetest.InBubble(t, func(h *cachetest.Harness) {
			expectDuplicate(h)
			h.ExpectStored("a@" + newest + " b@3 c@4")
			h.ExpectEvents("A a@"+newest, "A b@3", "A c@4")
		}, repeat)

		store := cache.NewStore[*corev1.Pod](nil, nil)
		synctest.Test(t, func(t *testing.T) {
			h := cachetest.New(t)
			repeat(h)
			defer h.RunReflector(store)()
			expectDuplicate(h)
			if got := cachetest.Describe(store.List()); got != "a@"+newest+" b@3 c@4" {
				t.Errorf("the store of a Reflector holds [%s]", got)
			}
		})
	}
}

// The initial state of a WatchList may have an object's addition and later updates. A second
// addition is reported.
func TestUpdateInTheInitialStateIsNoDuplicate(t *testing.T) {
	for name, row := range map[string]struct {
		event   watch.EventType
		version string
		stored  string
		check   func(*cachetest.Harness)
	}{
		"an update":           {watch.Modified, "7", "a@7", (*cachetest.Harness).ExpectNoError},
		"an older update":     {watch.Modified, "1", "a@2", (*cachetest.Harness).ExpectNoError},
		"a second addition":   {watch.Added, "7", "a@7", expectDuplicate},
		"an older addition":   {watch.Added, "1", "a@2", expectDuplicate},
		"an earlier deletion": {watch.Deleted, "1", "a@2", (*cachetest.Harness).ExpectNoError},
	} {
		t.Run(name, func(t *testing.T) {
			byWatchList(t, func(h *cachetest.Harness) {
				h.Send(watch.Event{Type: row.event, Object: cachetest.Pod("a", cachetest.WithVersion(row.version))})
				h.Send(watch.Event{Type: watch.Bookmark, Object: endBookmark("12", "true")})
				h.ExpectEvents("A "+row.stored, "A b@3", "A c@4")
				row.check(h)
			}, func(h *cachetest.Harness) {
				h.InjectWatchFault(1, fake.Fault{EditEvent: fake.DropInitialEventsEndBookmark})
				h.SkipVersions(20)
			})
		})
	}
}
