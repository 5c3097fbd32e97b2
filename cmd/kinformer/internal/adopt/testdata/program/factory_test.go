// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"testing"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

func TestFactory(t *testing.T) {
	informers.NewSharedInformerFactory(fake.NewClientset(), 0).Shutdown()
}
