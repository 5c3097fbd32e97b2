// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	kinformercache "github.com/kinformer/kinformer/clientgo/cache"
)

// begun is adopted in part.
func begun(lw cache.ListerWatcher) (first, second cache.SharedIndexInformer) {
	return kinformercache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil), cache.NewSharedIndexInformer(lw, &corev1.Node{}, 0, nil)
}
