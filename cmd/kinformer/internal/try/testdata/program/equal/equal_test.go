// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package equal

import (
	"testing"

	clientcache "k8s.io/client-go/tools/cache"
)

func TestStoresAreEmpty(t *testing.T) {
	for i, store := range Make(&clientcache.ListWatch{}) {
		if n := len(store.List()); n > 0 {
			t.Errorf("store %d has %d objects", i, n)
		}
	}
}
