// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

type reflecting struct {
	store     cache.Store
	reflector *cache.Reflector
}

func reflect(lw cache.ListerWatcher) reflecting {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	return reflecting{store, cache.NewReflector(lw, &corev1.Pod{}, store, 0)}
}

func handleErrors(informer cache.SharedInformer) error {
	return informer.SetWatchErrorHandler(func(r *cache.Reflector, err error) { cache.DefaultWatchErrorHandler(nil, r, err) })
}
