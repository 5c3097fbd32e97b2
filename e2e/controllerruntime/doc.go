// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package controllerruntime has the tests with controller-runtime. It is a separate module, so that
// neither the library nor the other end-to-end tests depend on controller-runtime.
package controllerruntime
