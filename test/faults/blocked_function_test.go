// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestRunReturnsWhileAFunctionBlocksOnAStream stops an informer that streams while its Transform
// blocks, with an object of a list or of a watch. The response is still being read then.
func TestRunReturnsWhileAFunctionBlocksOnAStream(t *testing.T) {
	for _, blocksAt := range []string{"listed", "watched"} {
		t.Run(blocksAt, func(t *testing.T) {
			server, err := fake.StartAPIServer(fake.APIServerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := server.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
			createNode(t, server, "listed")
			config := server.Config()
			cache.EnableStreaming(config)
			testBlockedTransform(t, config, blocksAt, func() { createNode(t, server, "watched") })
		})
	}
}

// fastClock has timers of up to ten seconds that are a thousand times as fast. Idle timeouts are
// longer.
type fastClock struct{ clock.RealClock }

func (c fastClock) NewTimer(d time.Duration) clock.Timer {
	if d <= 10*time.Second {
		d /= 1000
	}
	return c.RealClock.NewTimer(d)
}

func createNode(t *testing.T, server *fake.APIServer, name string) {
	t.Helper()
	cachetest.Must(t, server.Create, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// testBlockedTransform runs an informer of Nodes whose Transform blocks at one of them. write makes
// the watch bring one.
func testBlockedTransform(t *testing.T, config *rest.Config, blocksAt string, write func()) {
	t.Helper()
	blocked, release := make(chan struct{}), make(chan struct{})
	informer := cache.NewSharedInformer(cachetest.NodesOf(config), &corev1.Node{}, cache.InformerOptions[*corev1.Node]{
		Clock: fastClock{}, // Run waits for ten seconds
		Transform: func(node *corev1.Node) (*corev1.Node, error) {
			if node.Name == blocksAt {
				close(blocked)
				<-release
			}
			return node, nil
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- informer.Run(ctx) }()
	if blocksAt == "watched" {
		if err := informer.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
		write()
	}
	cachetest.Next(t, blocked)
	if !informer.Status().Requests.Streaming && blocksAt == "watched" {
		t.Errorf("not streaming: %s", informer.Status().Requests.NotStreamingReason)
	}
	cancel()
	select {
	case err := <-result:
		if !errors.Is(err, cache.ErrFunctionBlocked) {
			t.Errorf("Run returned %v, want %v", err, cache.ErrFunctionBlocked)
		}
		if phase := informer.Status().Phase; phase != cache.PhaseStopped {
			t.Errorf("phase %s after Run has returned, want %s", phase, cache.PhaseStopped)
		}
	case <-time.After(cachetest.Timeout):
		t.Error("Run has not returned")
	}
	close(release)
}
