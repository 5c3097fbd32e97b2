// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package cache has the names of controller-runtime's package.
package cache

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

type Options struct {
	Namespaces  []string
	NewInformer func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer
}

func New(config any, options Options) any { return nil }
