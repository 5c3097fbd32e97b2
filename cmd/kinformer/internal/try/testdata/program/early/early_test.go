// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package early

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"
)

func makeInformer() clientcache.SharedInformer {
	return clientcache.NewSharedInformer(&clientcache.ListWatch{}, &corev1.Pod{}, 0)
}

var informer = makeInformer()

func TestInformersAreNotStarted(t *testing.T) {
	if informer.HasSynced() || makeInformer().HasSynced() {
		t.Error("synced")
	}
}
