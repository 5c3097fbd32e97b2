// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package kuberay simulates the controller of ray-project/kuberay.
package kuberay
