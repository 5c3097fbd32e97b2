// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestItemWithoutNameIsRefusedAlone lists an object without a name between others, initially and in
// a relist. The others are stored, the item is reported, and a later list is good.
func TestItemWithoutNameIsRefusedAlone(t *testing.T) {
	for name, unname := range map[string]func(*corev1.Pod){
		"no name":  func(pod *corev1.Pod) { pod.Name = "" },
		"no field": func(pod *corev1.Pod) { *pod = corev1.Pod{} },
	} {
		fault := fake.Fault{EditList: func(list runtime.Object) runtime.Object {
			unname(&list.(*corev1.PodList).Items[1])
			return list
		}}
		t.Run(name, func(t *testing.T) {
			overEachClient(t, cache.ReflectorOptions{}, func(h *cachetest.Harness, _ *network) {
				cachetest.Advance(time.Second)
				expectUnnamed(h, "a@2 c@4")
				h.ExpectEvents("A a@2", "A c@4")
				cachetest.Advance(time.Hour)
				h.ExpectEvents("A b@3")
				h.InjectListFault(1, fault)
				h.Expire()
				h.Update(cachetest.Pod("a"))
				cachetest.Advance(3 * time.Second)
				expectUnnamed(h, "a@5 c@4")
			}, func(h *cachetest.Harness, _ *network) { h.InjectListFault(1, fault) })
		})
	}
}

// expectUnnamed checks that the informer has synced and stored the others, and what it reports.
func expectUnnamed(h *cachetest.Harness, others string) {
	h.T.Helper()
	h.ExpectStored(others)
	if status := h.Controller.Status(); !status.Synced || status.Store.Unnamed != 1 || status.Store.Quarantined != 0 {
		h.T.Errorf("status %+v", status)
	}
	for _, err := range h.TakeErrors() {
		if object, ok := errors.AsType[*cache.ObjectError](err); ok {
			if object.Effect != cache.EffectAbsent || !cachetest.ErrorContains("item 1 of the list")(err) || !cachetest.ErrorContains("metadata.name is empty")(err) {
				h.T.Errorf("reported %v", err)
			}
			return
		}
	}
	h.T.Error("the item was not reported")
}
