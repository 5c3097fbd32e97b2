// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"k8s.io/client-go/tools/cache"
)

func TestStore(t *testing.T) {
	if keys := cache.NewStore(cache.MetaNamespaceKeyFunc).ListKeys(); len(keys) > 0 {
		t.Error(keys)
	}
}
