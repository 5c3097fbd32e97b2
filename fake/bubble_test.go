// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// TestOutage is the example of the package comment.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := fake.NewListerWatcher(&corev1.Pod{})
		informer := cache.NewSharedInformer(pods, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- informer.Run(ctx) }()
		synctest.Wait() // until all goroutines are blocked: the watch is open

		pods.InjectListFault(-1, fake.Fault{Err: fake.InternalError()})
		pods.InjectWatchFault(-1, fake.Fault{Err: fake.InternalError()})
		pods.CloseWatches()
		pods.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0"}})
		time.Sleep(time.Hour) // on the bubble's clock
		if informer.Store().Len() != 0 || informer.Status().Err == nil {
			t.Error("the outage is not seen")
		}
		pods.ClearFaults()
		time.Sleep(time.Minute) // longer than the backoff
		if informer.Store().Len() != 1 {
			t.Error("the Pod is missing after the outage")
		}
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}
