// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// waiter receives the result of a wait in another goroutine.
type waiter chan error

func startWait(wait func() error) waiter {
	done := make(waiter, 1)
	go func() { done <- wait() }()
	synctest.Wait()
	return done
}

// result reports whether the wait has ended, and returns its error.
func (w waiter) result() (err error, ended bool) { //nolint:revive // err is meaningless unless ended
	synctest.Wait()
	select {
	case err := <-w:
		return err, true
	default:
		return nil, false
	}
}

// expectDone checks that the wait has ended without an error. after names the cause.
func (w waiter) expectDone(t *testing.T, after string) {
	t.Helper()
	if err, ended := w.result(); err != nil || !ended {
		t.Errorf("after %s: ended %v, error %v", after, ended, err)
	}
}

// TestWaitForResourceVersion checks that a wait ends when an event, a bookmark or a list advances
// the store to the version.
func TestWaitForResourceVersion(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		wait := func(version string) waiter {
			return startWait(func() error { return s.WaitForResourceVersion(s.T.Context(), version) })
		}
		wait("3").expectDone(t, "no change")
		seven, five, nine, twelve := wait("7"), wait("5"), wait("9"), wait("12")
		s.Update(cachetest.Pod("a"))
		five.expectDone(t, "an event")
		if _, ended := seven.result(); ended {
			t.Error("the wait for version 7 has ended at 5")
		}
		s.Send(watch.Event{Type: watch.Bookmark, Object: cachetest.Pod("", cachetest.WithVersion("8"))})
		seven.expectDone(t, "a bookmark")
		if _, ended := nine.result(); ended {
			t.Error("the wait for version 9 has ended at 8")
		}
		s.SkipVersions(5)
		s.Update(cachetest.Pod("b"))
		nine.expectDone(t, "an event of a later version")
		s.Expire()
		s.SkipVersions(5)
		s.Update(cachetest.Pod("c"))
		cachetest.Advance(2 * time.Second)
		twelve.expectDone(t, "a list")
	})
}

// TestWaitForResourceVersionErrors checks that the error has both versions and the server's error.
func TestWaitForResourceVersionErrors(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{Name: "pods"}, func(s *sharedHarness) {
		for bad, want := range map[string]string{"": "fake.ListerWatcher.Serve", "0": "not well formed", "x": "not well formed"} {
			if err := s.WaitForResourceVersion(s.T.Context(), bad); !cachetest.ErrorContains(want)(err) {
				t.Errorf("%q: %v, want %q", bad, err, want)
			}
		}
		s.InjectWatchFault(100, fake.Fault{Err: apierrors.NewUnauthorized("token expired")})
		s.CloseWatches()
		ctx, cancel := context.WithTimeout(s.T.Context(), 10*time.Second)
		defer cancel()
		err := s.WaitForResourceVersion(ctx, "99")
		if !errors.Is(err, context.DeadlineExceeded) || !apierrors.IsUnauthorized(err) || !cachetest.ErrorContains(`pods is at resourceVersion "4", not yet at 99`)(err) {
			t.Errorf("%v", err)
		}
		w := startWait(func() error { return s.WaitForResourceVersion(s.T.Context(), "99") })
		if err := s.stopRun(); err != nil {
			t.Error(err)
		}
		s.stopRun = func() error { return nil }
		if err, ended := w.result(); !ended || !errors.Is(err, cache.ErrStopped) {
			t.Errorf("after stop: ended %v, error %v", ended, err)
		}
	})
}

// TestWaitForObject waits for writes. For an object that the informer never stores, the error is
// immediate.
func TestWaitForObject(t *testing.T) {
	filter := func(p *corev1.Pod) bool { return p.Labels["x"] != "no" }
	runShared(t, cache.InformerOptions[*corev1.Pod]{Filter: filter}, func(s *sharedHarness) {
		written := s.Create(cachetest.Pod("d"))
		if err := s.WaitForObject(s.T.Context(), written); err != nil {
			t.Error(err)
		}
		if p, ok := s.SharedInformer.Store().GetByKey("ns/d"); !ok || p.ResourceVersion != written.ResourceVersion {
			t.Errorf("stored %v", p)
		}
		later := cachetest.Pod("d", cachetest.WithVersion("6"))
		w := startWait(func() error { return s.WaitForObject(s.T.Context(), later) })
		if _, ended := w.result(); ended {
			t.Error("the wait has ended before the write")
		}
		s.Update(cachetest.Pod("d"))
		w.expectDone(t, "the write")
		for want, obj := range map[string]*corev1.Pod{
			"Filter refuses": cachetest.Pod("d", cachetest.WithVersion("9"), cachetest.WithLabel("x", "no")), "object is nil": nil, "name is empty": cachetest.Pod(""), "no resourceVersion": cachetest.Pod("d"),
		} {
			if err := s.WaitForObject(s.T.Context(), obj); !cachetest.ErrorContains(want)(err) {
				t.Errorf("want %q: %v", want, err)
			}
		}
	})
}

// TestWaitForObjectOutOfScope waits for objects of another namespace or selection, for informers of
// each kind of client.
func TestWaitForObjectOutOfScope(t *testing.T) {
	config := &rest.Config{Host: "http://127.0.0.1:1"}
	client := clientset.NewForConfigOrDie(config)
	selected := cache.WithLabelSelector(labels.SelectorFromSet(labels.Set{"x": "1"}))
	onNode := func(options *metav1.ListOptions) { options.FieldSelector = "spec.nodeName=n1,metadata.name!=b" }
	inside := cachetest.Pod("a", cachetest.WithVersion("9"), cachetest.WithLabel("x", "1"), func(p *corev1.Pod) { p.Spec.NodeName = "n1" })
	obj := cachetest.Pod("a", cachetest.WithVersion("9"), func(p *corev1.Pod) { p.Spec.NodeName = "n2" })
	for name, lw := range map[string]*cache.ListWatch{
		"namespace": cache.ListWatchOf(client.CoreV1().Pods("other")),
		"rest":      cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "other", nil),
		"label":     cache.ListWatchOf(client.CoreV1().Pods(""), selected),
		"field":     cache.ListWatchOf(client.CoreV1().Pods(""), onNode),
	} {
		informer := cache.NewSharedInformer(lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
		if err := informer.WaitForObject(t.Context(), obj); !errors.Is(err, cache.ErrNotSelected) {
			t.Errorf("%s: %v", name, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if name == "label" || name == "field" {
			if err := informer.WaitForObject(ctx, inside); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, inside: %v", name, err)
			}
		}
	}
	lw := cache.ListWatchOf(metadata.NewForConfigOrDie(config).Resource(podGVR).Namespace("other")).InNamespace("other")
	meta := &metav1.PartialObjectMetadata{ObjectMeta: obj.ObjectMeta}
	if err := cache.NewSharedInformer(lw, meta, cache.InformerOptions[*metav1.PartialObjectMetadata]{}).WaitForObject(t.Context(), meta); !errors.Is(err, cache.ErrNotSelected) {
		t.Errorf("metadata: %v", err)
	}
}

// TestWaitForDelete deletes and recreates a Pod. The wait ends when the store does not hold its
// UID.
func TestWaitForDelete(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		pod, _ := s.SharedInformer.Store().GetByKey("ns/a")
		ctx, cancel := context.WithTimeout(s.T.Context(), time.Minute)
		defer cancel()
		if err := s.WaitForDelete(ctx, pod); !errors.Is(err, context.DeadlineExceeded) || !cachetest.ErrorContains("ns/a")(err) {
			t.Errorf("wait for a Pod that exists: %v", err)
		}
		w := startWait(func() error { return s.WaitForDelete(s.T.Context(), pod) })
		s.Update(cachetest.Pod("a"))
		s.Update(cachetest.Pod("b"))
		if err, ended := w.result(); ended {
			t.Errorf("WaitForDelete returned %v after an update", err)
		}
		s.Harness.Delete("ns/a")
		s.Create(cachetest.Pod("a"))
		w.expectDone(t, "a deletion and an addition")
		if err := s.WaitForDelete(s.T.Context(), pod); err != nil {
			t.Errorf("wait for a deleted Pod: %v", err)
		}
		if err := s.WaitForDelete(s.T.Context(), cachetest.Pod("")); !cachetest.ErrorContains("name is empty")(err) {
			t.Errorf("wait for a Pod without a name: %v", err)
		}
	})
}

// TestWaitReportsThatRunWasNotCalled waits for an informer that is not running.
func TestWaitReportsThatRunWasNotCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger, log := bufferedLogger(5)
		pods := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Logger: logger})
		logged := func() int { return strings.Count(log(), "Run has not been called") }
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		err := pods.WaitForSync(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || !cachetest.ErrorContains("Run has not been called")(err) {
			t.Errorf("error %v", err)
		}
		if n := logged(); n != 0 {
			t.Errorf("logged %d times before 5 seconds", n)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err = pods.WaitForSync(ctx); err == nil || logged() != 1 {
			t.Errorf("error %v, logged %d times", err, logged())
		}
	})
}

// TestWaitForSyncBeforeRun waits before another goroutine calls Run.
func TestWaitForSyncBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
		w := startWait(func() error { return pods.WaitForSync(t.Context()) })
		start(t, pods)
		w.expectDone(t, "Run")
	})
}

// TestWaitForDeleteComparesTheServersUID stores Pods whose UID a transform has cleared.
func TestWaitForDeleteComparesTheServersUID(t *testing.T) {
	clearUID := func(pod *corev1.Pod) (*corev1.Pod, error) {
		pod.UID = ""
		return pod, nil
	}
	runShared(t, cache.InformerOptions[*corev1.Pod]{Transform: clearUID}, func(s *sharedHarness) {
		created := s.Create(cachetest.Pod("d"))
		w := startWait(func() error { return s.WaitForDelete(s.T.Context(), created) })
		if err, ended := w.result(); ended {
			t.Errorf("WaitForDelete of a Pod that exists returned %v", err)
		}
		s.Harness.Delete("ns/d")
		w.expectDone(t, "the deletion")
	})
}
