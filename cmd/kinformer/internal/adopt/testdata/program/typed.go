// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build newest

package main

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// typed uses a name that client-go has since v0.37, which makes no informer.
func typed(lw cache.ListerWatcher) cache.TypedSharedIndexInformer[*corev1.Pod] {
	return cache.NewTypedSharedIndexInformer[*corev1.Pod](cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil))
}
