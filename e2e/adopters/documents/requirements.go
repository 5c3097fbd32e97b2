// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build never

package documents

// What the documents import, for go.mod: the test checks the types of their blocks without
// importing the packages.
import (
	_ "sigs.k8s.io/controller-runtime"
	_ "sigs.k8s.io/controller-runtime/pkg/cache"

	_ "github.com/kinformer/kinformer/simulate/simulatecr"
)
