// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// bufferedLogger returns a logger and what it has logged.
func bufferedLogger(verbosity int) (logger klog.Logger, logged func() string) {
	logger = ktesting.NewLogger(ktesting.NopTL{}, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(verbosity)))
	return logger, logger.GetSink().(ktesting.Underlier).GetBuffer().String
}

// TestManyFailedObjectsWriteFewLogLines lists 20,000 objects that cannot be stored: the log has ten
// of them, and one line a minute with the number of the others, the last one when Run returns.
// Status has the first 100. From verbosity 2 on, the log has each object once.
func TestManyFailedObjectsWriteFewLogLines(t *testing.T) {
	for verbosity, want := range map[int]int{0: 10, 2: 20000} {
		cachetest.RunInBubble(t, fmt.Sprintf("verbosity %d", verbosity), func(t *testing.T) {
			server := fake.NewListerWatcher(&corev1.Pod{})
			for i := range 20000 {
				server.Create(cachetest.Pod(fmt.Sprint(i)))
			}
			logger, logged := bufferedLogger(verbosity)
			informer := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
				Logger:    logger,
				Transform: func(*corev1.Pod) (*corev1.Pod, error) { return nil, errRejected },
			})
			stop := start(t, informer)
			<-time.After(90 * time.Second)
			synctest.Wait()
			log := logged()
			if n := strings.Count(log, "Object not stored"); n != want {
				t.Errorf("%d objects were logged, want %d", n, want)
			}
			if strings.Count(log, "More errors on objects") != 1 || !strings.Contains(log, "errors=19990") || !strings.Contains(log, `see="Status.QuarantinedKeys"`) {
				t.Errorf("the log does not have the number of the other objects once")
			}
			if status := informer.Status(); status.Store.Quarantined != 20000 || len(status.Store.QuarantinedKeys) != 100 {
				t.Errorf("Status has %d objects and names %d", status.Store.Quarantined, len(status.Store.QuarantinedKeys))
			}
			server.Create(cachetest.Pod("late"))
			synctest.Wait()
			stop()
			if !strings.Contains(logged(), "errors=1 ") {
				t.Error("the last error was not logged when Run returned")
			}
		})
	}
}

// TestReflectorOfManyFailedObjectsWritesFewLogLines is the same for a Reflector.
func TestReflectorOfManyFailedObjectsWritesFewLogLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewListerWatcher(&corev1.Pod{})
		logger, logged := bufferedLogger(0)
		store := rejectingStore{cache.NewStore[*corev1.Pod](nil, nil), func(*corev1.Pod) error { return errRejected }}
		reflector := cache.NewReflector(server, &corev1.Pod{}, store, cache.ReflectorOptions{Logger: logger})
		stop := start(t, reflector)
		synctest.Wait()
		for i := range 1000 {
			server.Create(cachetest.Pod(fmt.Sprint(i)))
		}
		synctest.Wait()
		stop()
		log := logged()
		if n := strings.Count(log, "Object not stored"); n != 10 || !strings.Contains(log, "errors=990 ") {
			t.Errorf("%d objects were logged, want 10 and the number of the others", n)
		}
	})
}

// TestFailedIndexFunctionIsCounted fails for one object of two: the index does not find it, and
// Status counts it by index.
func TestFailedIndexFunctionIsCounted(t *testing.T) {
	fails := func(p *corev1.Pod) ([]string, error) {
		if p.Name == "a" {
			return nil, errRejected
		}
		return []string{"x"}, nil
	}
	runShared(t, cache.InformerOptions[*corev1.Pod]{Indexers: cache.Indexers[*corev1.Pod]{
		"fails": cache.ByObject(fails),
		"works": cache.ByObject(func(*corev1.Pod) ([]string, error) { return []string{"x"}, nil }),
	}}, func(s *sharedHarness) {
		s.Create(cachetest.Pod("later"))
		s.Update(cachetest.Pod("a", cachetest.WithLabel("x", "1")))
		synctest.Wait()
		s.TakeErrors()
		if got := s.Status().Store.IndexErrors; len(got) != 1 || got["fails"] != 2 {
			t.Errorf("IndexErrors = %v, want 2 of one index", got)
		}
	})
}
