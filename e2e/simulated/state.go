// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulated

import (
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// Find returns the object of a Go type and a name, or nil.
func Find[T fake.Object](s simulate.State, namespace, name string) (found T) {
	for _, obj := range simulate.All[T](s) {
		if obj.GetNamespace() == namespace && obj.GetName() == name {
			return obj
		}
	}
	return found
}
