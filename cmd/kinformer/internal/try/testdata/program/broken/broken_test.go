// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"
)

func TestBroken(*testing.T) { clientcache.NewNothing(&corev1.Pod{}) }
