package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2/ktesting"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// What fails for the same reason again and again is logged once in five minutes, though no two attempts fail in the same
// words: the timeouts in their URLs and the ports that they come from differ.
func TestTheSameErrorIsLoggedOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var unroutable atomic.Bool
		attempts := 0
		fail := func() error {
			cause := "connection refused"
			if unroutable.Load() {
				cause = "no route to host"
			}
			attempts++
			return fmt.Errorf("Get \"https://10.0.0.1:6443/api/v1/pods?timeoutSeconds=%d\": read tcp 10.0.0.2:%d: %s",
				300+attempts, 40000+attempts, cause)
		}
		logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
		logged := func() int {
			return strings.Count(logger.GetSink().(ktesting.Underlier).GetBuffer().String(), "Failed to list, will retry")
		}
		reflector := cache.NewReflector(&cache.ListWatch{
			ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, fail() },
			WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return nil, errors.New("nobody lists, so nobody watches")
			},
		}, &corev1.Pod{}, cache.NewStore[*corev1.Pod](nil, nil), cache.ReflectorOptions{Logger: logger})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- reflector.Run(ctx) }()

		cachetest.Advance(4 * time.Minute)
		if logged() != 1 || attempts < 5 {
			t.Errorf("%d attempts that failed for one reason were logged %d times in 4 minutes, want once", attempts, logged())
		}
		unroutable.Store(true)
		cachetest.Advance(time.Minute)
		if logged() != 2 {
			t.Errorf("%d errors were logged, want 2: another cause is news", logged())
		}
		cachetest.Advance(6 * time.Minute)
		if logged() != 3 {
			t.Errorf("%d errors were logged, want 3: after a while the same is worth repeating", logged())
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}
