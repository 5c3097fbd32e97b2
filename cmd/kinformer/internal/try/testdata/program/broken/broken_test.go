// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"testing"

	clientcache "k8s.io/client-go/tools/cache"
)

func TestBroken(*testing.T) { clientcache.NewNothing() }
