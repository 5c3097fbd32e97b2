// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster has the names of controller-runtime's package.
package cluster

import "sigs.k8s.io/controller-runtime/pkg/cache"

type Options struct{ Cache cache.Options }

type Option func(*Options)

func New(config any, options ...Option) any { return nil }
