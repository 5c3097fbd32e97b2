// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/web"}}},
	}
}

// roles is what the controller may do in a cluster.
var roles = []simulate.Roles{{Files: []string{"role.yaml"}}}

// The controller ends in the same state, whatever fails, is late or lost.
func TestSimulated(t *testing.T) {
	simulate.Run(t, simulate.Test{
		Roles: roles,
		Start: func(ctx context.Context, config *rest.Config) error {
			cache.EnableStreaming(config)
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return err
			}
			c, err := newController(client)
			if err != nil {
				return err
			}
			return c.Run(ctx)
		},
		Objects: []fake.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, pod("a"), pod("b")},
		Steps: func(w *simulate.World) {
			w.Create(pod("c"))
			w.Settle()
			w.Delete(pod("a"))
			w.Delete(pod("b"))
		},
	})
}

// Two replicas choose a leader, and the work is done once.
func TestSimulatedWithLeaderElection(t *testing.T) {
	var starts atomic.Int64
	simulate.Run(t, simulate.Test{
		Replicas: 2,
		Roles:    roles,
		Rest:     time.Minute, // each renewal of the Lease is a request
		Start: func(ctx context.Context, config *rest.Config) error {
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return err
			}
			lease := leaseOf(client, "default", fmt.Sprint("replica-", starts.Add(1)))
			return lead(ctx, lease, leaderelection.NewLeaderHealthzAdaptor(leaseDuration), func(ctx context.Context) error {
				c, err := newController(client)
				if err != nil {
					return err
				}
				return c.Run(ctx)
			})
		},
		Objects: []fake.Object{pod("a")},
		Steps:   func(w *simulate.World) { w.Create(pod("b")) },
	})
}
