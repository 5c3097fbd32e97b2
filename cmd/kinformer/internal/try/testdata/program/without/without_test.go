// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package without

import (
	"testing"

	clientcache "k8s.io/client-go/tools/cache"
)

func TestWithoutInformer(t *testing.T) {
	if clientcache.NewStore(clientcache.MetaNamespaceKeyFunc) == nil {
		t.Error("no store")
	}
}
