// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

// Requests wait from before the event of a write that decides what is served until its effects.
func TestEventAndEffectAreOneStep(t *testing.T) {
	r := New(history.NewMemory(), resource.BuiltIn(), 0)
	watcher, err := r.apiServices().Watch("", metav1.ListOptions{ResourceVersion: "1"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, changed, err := watcher.Next(1)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.RLock() // blocks the effect
	written := make(chan error)
	go func() {
		_, err := r.apiServices().Remove("", "v1.apps", "")
		written <- err
	}()
	<-changed
	if r.reconciling.TryRLock() {
		t.Error("requests do not wait for the effect of an event")
	}
	r.mu.RUnlock()
	if err := <-written; err != nil {
		t.Error(err)
	}
	r.Settle()
}
