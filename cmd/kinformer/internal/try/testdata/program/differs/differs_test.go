// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package differs_test

import (
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"
)

func isClientGos() bool {
	informer := clientcache.NewSharedInformer(&clientcache.ListWatch{}, &corev1.Pod{}, 0)
	return fmt.Sprintf("%T", informer) == "*cache.sharedIndexInformer"
}

func TestOfClientGo(t *testing.T) {
	t.Run("passes", func(*testing.T) {})
	t.Run("fails", func(t *testing.T) {
		if !isClientGos() {
			t.Error("the informer is not client-go's")
		}
	})
}

func TestOfKinformer(t *testing.T) {
	if isClientGos() {
		t.Error("the informer is client-go's")
	}
}

func TestOfNone(t *testing.T) { t.Error("fails on both") }

// TestFlaky fails in the second run on client-go. A file counts the runs.
func TestFlaky(t *testing.T) {
	if !isClientGos() {
		return
	}
	runs, _ := os.ReadFile("runs")
	if err := os.WriteFile("runs", append(runs, '.'), 0o600); err != nil {
		t.Fatal(err)
	}
	if len(runs) == 1 {
		t.Error("the second run")
	}
}
