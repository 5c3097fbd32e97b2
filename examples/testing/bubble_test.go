// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package testing

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

func pod(name, node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: corev1.PodSpec{NodeName: node}}
}

// inBubble runs a test with a running Labeler. The fake clientset serves the Pods of pods.
func inBubble(t *testing.T, test func(t *testing.T, pods *fake.ListerWatcher[*corev1.Pod], labeler *Labeler)) {
	synctest.Test(t, func(t *testing.T) {
		client := clientset.NewClientset()
		pods := fake.NewListerWatcher(&corev1.Pod{})
		pods.Serve(client, "pods")
		labeler, err := NewLabeler(client)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- labeler.Run(ctx) }()
		synctest.Wait() // until all goroutines are idle
		test(t, pods, labeler)
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

func expectLabel(t *testing.T, pods *fake.ListerWatcher[*corev1.Pod], key, want string) {
	t.Helper()
	synctest.Wait()
	if pod, _ := pods.Get(key); pod.Labels[NodeLabel] != want {
		t.Errorf("Pod %s has the labels %v, want node %q", key, pod.Labels, want)
	}
}

func TestPodIsLabeledOnceItHasANode(t *testing.T) {
	inBubble(t, func(t *testing.T, pods *fake.ListerWatcher[*corev1.Pod], _ *Labeler) {
		pods.Create(pod("a", ""))
		expectLabel(t, pods, "ns/a", "")
		pods.Update(pod("a", "node-1"))
		expectLabel(t, pods, "ns/a", "node-1")
	})
}

// The server refuses every request for an hour. A Pod that is created meanwhile is labeled
// afterwards.
func TestPodIsLabeledAfterAnOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, pods *fake.ListerWatcher[*corev1.Pod], labeler *Labeler) {
		pods.InjectWatchFault(10_000, fake.Fault{Err: fake.InternalError()})
		pods.InjectListFault(10_000, fake.Fault{Err: fake.InternalError()})
		pods.CloseWatches()
		pods.Create(pod("a", "node-1"))
		time.Sleep(time.Hour) // of simulated time
		expectLabel(t, pods, "ns/a", "")
		if status := labeler.Status(); status.Phase != cache.PhaseRetrying || status.Err == nil {
			t.Errorf("phase %s and error %v during the outage", status.Phase, status.Err)
		}
		pods.ClearFaults()
		time.Sleep(time.Minute)
		expectLabel(t, pods, "ns/a", "node-1")
	})
}

// The informer cannot run, as it runs already. The worker must not keep Run from returning that.
func TestRunReturnsTheErrorOfTheInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientset.NewClientset()
		fake.NewListerWatcher(&corev1.Pod{}).Serve(client, "pods")
		labeler, err := NewLabeler(client)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		running, stopped := make(chan error), make(chan error, 1)
		go func() { running <- labeler.pods.Run(ctx) }()
		synctest.Wait()
		go func() { stopped <- labeler.Run(ctx) }()
		synctest.Wait()
		select {
		case err := <-stopped:
			if !errors.Is(err, cache.ErrAlreadyRunning) {
				t.Errorf("Run returned %v, want ErrAlreadyRunning", err)
			}
		default:
			t.Error("Run has not returned")
		}
		cancel()
		if err := <-running; err != nil {
			t.Error(err)
		}
	})
}
