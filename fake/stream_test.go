// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"runtime"
	"testing"
	"time"
	"weak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The timers and the context of a watch may outlive it by hours and must not reference it after
// Stop.
func TestStoppedWatchIsGarbageCollected(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lw := NewListerWatcher(&corev1.Pod{})
	lw.BookmarkEvery(time.Hour)
	day := int64(86400)
	open := func() weak.Pointer[stream] {
		w, err := lw.Watch(ctx, metav1.ListOptions{TimeoutSeconds: &day, AllowWatchBookmarks: true})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		return weak.Make(w.(*stream))
	}
	stopped := open()
	for range 3 {
		runtime.GC()
	}
	if stopped.Value() != nil {
		t.Error("stopped watch is still referenced")
	}
}
