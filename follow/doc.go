// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package follow makes informers follow what a server serves: they start when a resource appears, such
// as that of a CustomResourceDefinition, and end when it goes.
package follow
