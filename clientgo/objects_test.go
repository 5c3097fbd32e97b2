// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"reflect"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestObjectsAreAsDecoded checks that a stored object equals the object that the client decoded.
func TestObjectsAreAsDecoded(t *testing.T) {
	liveAndPacked(t, func(t *testing.T, packed bool) {
		server := newServer()
		grace := int64(0)
		sent := cachetest.Pod("a")
		sent.Spec = corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}, TerminationGracePeriodSeconds: &grace}
		sent.Annotations = map[string]string{"a": "b"}
		sent = server.Create(sent)
		h := run(t, server, clientgo.Options{Packed: packed})
		got, _, _ := h.informer.GetStore().GetByKey("ns/a")
		if diff := cmp.Diff(sent, got); diff != "" {
			t.Errorf("object (-sent +stored):\n%s", diff)
		}
	})
}

// TestReadsReturnSameObject checks that two reads return the same object; with Packed, as long as
// one reader references it.
func TestReadsReturnSameObject(t *testing.T) {
	liveAndPacked(t, func(t *testing.T, packed bool) {
		h := run(t, newServer("a"), clientgo.Options{Packed: packed})
		first, _, _ := h.informer.GetStore().GetByKey("ns/a")
		runtime.GC()
		second := h.informer.GetStore().List()[0]
		if first != second {
			t.Error("two reads returned different objects")
		}
		if reflect.TypeOf(first) != reflect.TypeFor[*corev1.Pod]() {
			t.Errorf("the store has a %T", first)
		}
		runtime.KeepAlive(first)
	})
}
