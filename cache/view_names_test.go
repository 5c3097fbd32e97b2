// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// TestUniqueNamesOfInformers checks that informers of one name have different unique names, which
// they keep, and that the next informer gets the name of one that has stopped.
func TestUniqueNamesOfInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func() (cache.View, func()) {
			informer := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: "unique"})
			ctx, cancel := context.WithCancel(t.Context())
			stopped := make(chan error, 1)
			go func() { stopped <- informer.Run(ctx) }()
			return informer.Views()[0], func() {
				cancel()
				if err := <-stopped; err != nil {
					t.Error(err)
				}
			}
		}
		expect := func(want string, views ...cache.View) {
			t.Helper()
			var names []string
			for _, view := range views {
				names = append(names, view.UniqueName())
			}
			if got := fmt.Sprint(names); got != want {
				t.Errorf("names %v, want %v", got, want)
			}
		}
		a, stopA := run()
		b, stopB := run()
		expect("[unique unique#2]", a, b)
		stopA()
		c, stopC := run()
		expect("[unique unique#2 unique]", a, b, c)
		stopB()
		stopC()
	})
}

// TestUniqueNamesOfHandlers checks that handlers of one name have different unique names, which they
// keep when another one is removed.
func TestUniqueNamesOfHandlers(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		expect := func(want string) {
			t.Helper()
			var names []string
			for _, handler := range s.Status().Handlers {
				names = append(names, handler.UniqueName)
			}
			if got := fmt.Sprint(names); got != want {
				t.Errorf("handlers %v, want %v", got, want)
			}
		}
		first := s.add(&eventRecorder{}, cache.HandlerOptions{Name: "h"})
		s.add(&eventRecorder{}, cache.HandlerOptions{Name: "h"})
		s.add(&eventRecorder{}, cache.HandlerOptions{Name: "h#2"})
		expect("[h h#2 h#2#2]")
		first.Cancel()
		expect("[h#2 h#2#2]")
		if got := first.Status().UniqueName; got != "h" {
			t.Errorf("the removed handler is %q, want h", got)
		}
		s.add(&eventRecorder{}, cache.HandlerOptions{Name: "h"})
		expect("[h#2 h#2#2 h]")
	})
}
