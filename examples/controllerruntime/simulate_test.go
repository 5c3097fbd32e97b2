// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/goroutines"
	"github.com/kinformer/kinformer/simulate"
	"github.com/kinformer/kinformer/simulate/simulatecr"
)

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/web"}}},
	}
}

// counting returns the test of a manager, which is that of examples/controller.
func counting(options ctrl.Options) simulate.Test {
	options.Cache.ByObject = ownConfigMaps() // which the roles permit alone
	start := simulatecr.Start(options, setUp)
	return simulate.Test{
		Roles: []simulate.Roles{{Files: []string{"role.yaml"}}},
		Start: func(ctx context.Context, config *rest.Config) error {
			cache.EnableStreaming(config)
			return start(ctx, config)
		},
		Objects: []fake.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, pod("a"), pod("b")},
		Steps: func(w *simulate.World) {
			w.Create(pod("c"))
			w.Settle()
			w.Delete(pod("a"))
			w.Delete(pod("b"))
		},
	}
}

// The controller ends in the same state, whatever fails, is late or lost, and leaves no goroutine.
func TestSimulated(t *testing.T) {
	for name, options := range map[string]ctrlcache.Options{
		"kinformer": {NewInformer: clientgo.Options{Packed: true}.NewInformer},
		"client-go": {},
	} {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			simulate.Run(t, counting(ctrl.Options{Cache: options}))
			goroutines.ExpectAtMost(t, before)
		})
	}
}

// Two replicas choose a leader, and the work is done once.
func TestSimulatedWithLeaderElection(t *testing.T) {
	test := counting(ctrl.Options{
		Cache:          ctrlcache.Options{NewInformer: clientgo.Options{Packed: true}.NewInformer},
		LeaderElection: true, LeaderElectionID: "pod-count",
	})
	test.Replicas = 2
	simulate.Run(t, test)
}
