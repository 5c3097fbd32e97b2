// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestPhaseBetweenWatches checks that the phase is Resuming after the server has closed the watch.
func TestPhaseBetweenWatches(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		if phase := r.Controller.Status().Phase; phase != cache.PhaseWatching {
			t.Fatalf("phase %s with an open watch, want %s", phase, cache.PhaseWatching)
		}
		r.CloseWatches()
		synctest.Wait()
		if status := r.Controller.Status(); status.Phase != cache.PhaseResuming || status.Err != nil {
			t.Errorf("phase %s, error %v after the server closed the watch, want %s", status.Phase, status.Err, cache.PhaseResuming)
		}
	})
}

// TestHealthCheck checks the errors before Run, before the sync, of a stale store and after Run.
func TestHealthCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharedHarness(t, cache.InformerOptions[*corev1.Pod]{Name: "pods"})
		check := s.HealthCheck(cache.HealthOptions{MaxStaleness: 5 * time.Minute})
		if err := check(nil); !cachetest.ErrorContains("pods: Run has not been called")(err) {
			t.Errorf("before Run: %v", err)
		}
		s.InjectListFault(1, fake.Fault{Err: apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no"))})
		s.start()
		if err := check(nil); !apierrors.IsForbidden(err) || !cachetest.ErrorContains("pods has not synced")(err) {
			t.Errorf("before the list: %v", err)
		}
		cachetest.Advance(10 * time.Second)
		if err := check(nil); err != nil {
			t.Error(err)
		}
		s.InjectWatchFault(1000, fake.Fault{Err: apierrors.NewUnauthorized("token expired")})
		s.CloseWatches()
		cachetest.Advance(6 * time.Minute)
		if err := check(nil); !apierrors.IsUnauthorized(err) || !cachetest.ErrorContains("up to date 6m9s ago, MaxStaleness is 5m0s: watch: token expired")(err) {
			t.Errorf("without a watch: %v", err)
		}
		if err := s.HealthCheck(cache.HealthOptions{})(nil); err != nil {
			t.Errorf("without a limit: %v", err)
		}
		if err := s.stopRun(); err != nil {
			t.Error(err)
		}
		if err := check(nil); !errors.Is(err, cache.ErrStopped) {
			t.Errorf("after stop: %v", err)
		}
	})
}

// TestReflectorAndFactoryStatus reads Status, HasSynced and HealthCheck.
func TestReflectorAndFactoryStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw := fake.NewListerWatcher(&corev1.Pod{})
		pods := cache.NewReflector(lw, &corev1.Pod{}, cache.NewStore[*corev1.Pod](nil, nil), cache.ReflectorOptions{})
		factory := cache.NewFactory(cache.FactoryOptions{})
		ref, err := cache.InformerFor(factory, cache.ListWatchOf(podClient{ListerWatcher: lw}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
		if err != nil {
			t.Fatal(err)
		}
		defer ref.Release()
		if pods.HasSynced() || factory.HasSynced() || pods.HealthCheck(cache.HealthOptions{})(nil) == nil || factory.HealthCheck(cache.HealthOptions{})(nil) == nil {
			t.Error("synced or healthy before Run")
		}
		start(t, pods, factory)
		synctest.Wait()
		if !pods.HasSynced() || !factory.HasSynced() || pods.HealthCheck(cache.HealthOptions{MaxStaleness: time.Minute})(nil) != nil || factory.HealthCheck(cache.HealthOptions{MaxStaleness: time.Minute})(nil) != nil {
			t.Errorf("not synced or not healthy: %+v, %+v", pods.Status(), factory.Status())
		}
		if s := pods.Status(); s.Phase != cache.PhaseWatching || s.Name != "Pod" {
			t.Errorf("status %+v", s)
		}
	})
}

// TestReflectorStatusOfASecondRun stops a reflector while its requests fail, and runs it again.
func TestReflectorStatusOfASecondRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		pods := cache.NewReflector(r, &corev1.Pod{}, cache.NewStore[*corev1.Pod](nil, nil), cache.ReflectorOptions{ErrorHandler: r.Report})
		run := func() (stop func()) {
			stop = start(t, pods)
			cachetest.Advance(time.Second)
			return stop
		}
		r.InjectListFault(100, fake.Fault{Err: fake.Forbidden()})
		run()()
		if s := pods.Status(); s.Phase != cache.PhaseStopped || s.Err == nil {
			t.Errorf("status %+v after a failed run", s)
		}
		r.ClearFaults()
		r.InjectListFault(100, fake.Fault{Delay: time.Hour})
		stop := run()
		if s := pods.Status(); s.Phase != cache.PhaseListing || s.Err != nil {
			t.Errorf("status %+v while the second run lists", s)
		}
		stop()
		r.ClearFaults()
		r.InjectListFault(1, fake.Fault{Err: fake.Forbidden()})
		if err := pods.ListAndWatch(t.Context()); err == nil {
			t.Error("ListAndWatch succeeded")
		}
		if s := pods.Status(); s.Phase != cache.PhaseRetrying || s.Err == nil || pods.HealthCheck(cache.HealthOptions{})(nil) == nil {
			t.Errorf("status %+v after a failed ListAndWatch", s)
		}
	})
}
