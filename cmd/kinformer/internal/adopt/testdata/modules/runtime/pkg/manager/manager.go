// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package manager has the names of controller-runtime's package.
package manager

import "sigs.k8s.io/controller-runtime/pkg/cache"

type Options struct {
	LeaderElection bool
	Cache          cache.Options
}

func New(config any, options Options) any { return nil }
