// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A custom resource may be of kind Status.
func TestCustomResourceOfKindStatusIsNoError(t *testing.T) {
	custom := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Status", "metadata": map[string]any{"name": "a"}, "status": map[string]any{"phase": "Ready"},
	}}
	if err := statusError(custom); err != nil {
		t.Errorf("statusError returned %v for a custom resource", err)
	}
}
