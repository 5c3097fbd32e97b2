// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/served"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// absence is an informer in a bubble, of a resource whose verdict the test sets.
type absence struct {
	lw       *fake.ListerWatcher[*corev1.Pod]
	resource *served.Resource
	informer *cache.SharedInformer[*corev1.Pod]
	events   []string
}

var errAbsent = fmt.Errorf("a test: %w", cache.ErrNotServed)

// inAbsence runs an informer that has listed one Pod.
func inAbsence(t *testing.T, test func(a *absence)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := &absence{lw: fake.NewListerWatcher(&corev1.Pod{}), resource: served.New(errAbsent)}
		a.lw.Create(cachetest.Pod("a"))
		a.resource.Set(served.Served, nil)
		a.informer = cache.NewSharedInformer(a.lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
			Served: served.Publish(a.resource), ErrorHandler: func(context.Context, error) {},
		})
		handle(t, a.informer, func(e cache.Event[*corev1.Pod]) {
			a.events = append(a.events, fmt.Sprintf("%s %s %t", e.Type, e.Object().Name, e.LeftScope))
		})
		start(t, a.informer)
		synctest.Wait()
		test(a)
	})
}

// answerNotFound makes the server answer 404, and ends its watches.
func (a *absence) answerNotFound() {
	notFound := fake.Fault{Err: apierrors.NewNotFound(cachetest.PodResource, "")}
	a.lw.InjectListFault(-1, notFound)
	a.lw.InjectWatchFault(-1, notFound)
	a.lw.CloseWatches()
}

func (a *absence) expect(t *testing.T, phase cache.Phase, objects int, events ...string) {
	t.Helper()
	synctest.Wait()
	if got := a.informer.Status().Phase; got != phase || a.informer.Store().Len() != objects || !slices.Equal(a.events, events) {
		t.Errorf("phase %s, %d objects, events %v; want %s, %d, %v", got, a.informer.Store().Len(), a.events, phase, objects, events)
	}
}

// Objects that a server sends after the definition is said to be deleted may be those of another
// one.
func TestObjectsOfDisprovedVerdictAreNotGone(t *testing.T) {
	inAbsence(t, func(a *absence) {
		a.resource.Set(served.Gone, errAbsent)
		cachetest.Advance(10 * time.Second)
		a.lw.Create(cachetest.Pod("b"))
		a.expect(t, cache.PhaseWatching, 2, "Add a false", "Add b false")
		a.answerNotFound()
		cachetest.Advance(10 * time.Second)
		slices.Sort(a.events[2:])
		a.expect(t, cache.PhaseNotServed, 0, "Add a false", "Add b false", "Delete a true", "Delete b true")
		if err := a.informer.Store().KeyError("default/a"); !errors.Is(err, cache.ErrNotServed) {
			t.Errorf("a read returns %v, want ErrNotServed", err)
		}
	})
}

// A replica that serves a resource a little longer than the others does not put its deletion in
// doubt.
func TestReplicaThatLagsIsAskedAgain(t *testing.T) {
	inAbsence(t, func(a *absence) {
		a.resource.Set(served.Gone, errAbsent)
		cachetest.Advance(400 * time.Millisecond)
		a.expect(t, cache.PhaseResuming, 1, "Add a false")
		a.answerNotFound()
		cachetest.Advance(time.Second)
		a.expect(t, cache.PhaseNotServed, 0, "Add a false", "Delete a false")
		if err := a.informer.Store().KeyError("default/a"); err != nil {
			t.Errorf("a read returns %v, want NotFound", err)
		}
	})
}
