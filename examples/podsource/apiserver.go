// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
)

// apiServerSource passes on the Pods of a node as the API server has them.
type apiServerSource struct {
	client kubernetes.Interface
	node   string
	config *podConfig
}

// Run passes on the Pods after each change until ctx ends. The reflector lists again by itself
// after a failure, and the store keeps the last good set meanwhile.
func (s *apiServerSource) Run(ctx context.Context) error {
	ofNode := cache.WithFieldSelector(fields.OneTermEqualSelector("spec.nodeName", s.node))
	store := cache.NewUndeltaStore(func(pods []*corev1.Pod) { s.config.set(ctx, "api", pods) }, nil)
	return cache.NewReflector(cache.ListWatchOf(s.client.CoreV1().Pods(""), ofNode), &corev1.Pod{}, store, cache.ReflectorOptions{Name: "Pods of " + s.node}).Run(ctx)
}
