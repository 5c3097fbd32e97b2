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

// A watch that has ended must not be kept by its timers or by its context, which may outlive it by hours.
func TestAnEndedWatchIsGarbage(t *testing.T) {
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
	ended := open()
	for range 3 {
		runtime.GC()
	}
	if ended.Value() != nil {
		t.Error("something holds a watch that has been stopped")
	}
}
