// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// TestStatusTellsInformersOfClientGo covers a cache whose options lack NewInformer: a program finds
// such a cache by the status of its informers.
func TestStatusTellsInformersOfClientGo(t *testing.T) {
	config := fakeServer(t)
	for want, options := range map[cache.Phase]ctrlcache.Options{
		cache.PhaseInvalid: {},
		cache.PhaseIdle:    {NewInformer: clientgo.Options{}.NewInformer},
	} {
		c, err := ctrlcache.New(config, options)
		if err != nil {
			t.Fatal(err)
		}
		informer, err := c.GetInformer(t.Context(), &corev1.Pod{}, ctrlcache.BlockUntilSynced(false))
		if err != nil {
			t.Fatal(err)
		}
		if status := clientgo.StatusOf(informer); status.Phase != want {
			t.Errorf("phase %v (%v), want %v", status.Phase, status.Err, want)
		}
	}
}
