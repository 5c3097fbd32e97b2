// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package controllerruntime has the names of controller-runtime.
package controllerruntime

import "sigs.k8s.io/controller-runtime/pkg/manager"

type Options = manager.Options

func NewManager(config any, options Options) any { return manager.New(config, options) }
