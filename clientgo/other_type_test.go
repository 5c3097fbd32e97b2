// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestObjectsOfAnotherTypeAreRefused checks that a list with an object of another type than the
// example's fails, and that an event of such an object ends the watch and stores nothing.
func TestObjectsOfAnotherTypeAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "2"}}
		server := newScriptedServer()
		pods := server.ListFunc
		server.ListFunc = func(metav1.ListOptions) (runtime.Object, error) {
			return &corev1.ServiceList{Items: []corev1.Service{service}}, nil
		}
		var errs errorRecorder
		h := run(t, server, clientgo.Options{}, errs.handle(t))
		if got := errs.all(); h.informer.HasSynced() || len(got) != 1 || !strings.Contains(got[0].Error(), "expected a list of *v1.Pod, got *v1.ServiceList") {
			t.Errorf("the informer has synced is %v, and the watch error handler received %v", h.informer.HasSynced(), got)
		}
		h.stop()

		server.ListFunc = pods
		h = run(t, server, clientgo.Options{})
		server.send(watch.Added, cachetest.Pod("a"))
		first := server.stream.Load()
		server.stream.Store(watch.NewFake())
		first.Add(&service)
		cachetest.Advance(0)
		server.send(watch.Added, cachetest.Pod("b"))
		h.expectEvents("A a", "A b")
	})
}
