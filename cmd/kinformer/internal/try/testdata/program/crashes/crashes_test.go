// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package crashes

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"
)

// TestA panics on kinformer, before it makes an informer.
func TestA(*testing.T) {
	if os.Getenv("KINFORMER_TRY") == "kinformer" {
		panic("on kinformer")
	}
	clientcache.NewSharedInformer(&clientcache.ListWatch{}, &corev1.Pod{}, 0)
}

func TestB(*testing.T) {}

func TestC(t *testing.T) { t.Skip() }
