// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package collection_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/collection"
)

func TestPathIsThatOfTheAPI(t *testing.T) {
	for path, resource := range map[string]schema.GroupVersionResource{
		"/api/v1/pods":              {Version: "v1", Resource: "pods"},
		"/apis/apps/v1/deployments": {Group: "apps", Version: "v1", Resource: "deployments"},
	} {
		if got := (&collection.Collection{Resource: resource}).Path(); got != path {
			t.Errorf("Path of %v = %q, want %q", resource, got, path)
		}
	}
}

func TestCollectionDescribesItsItems(t *testing.T) {
	c := collection.Collection{
		Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Kind: "Deployment",
		ContentType: runtime.ContentTypeProtobuf, Items: [][]byte{[]byte("one"), nil, []byte("three")},
	}
	if !c.Protobuf() {
		t.Error("Protobuf() = false, want true")
	}
	if got := c.ItemBytes(); got != 8 {
		t.Errorf("ItemBytes() = %d, want 8", got)
	}
	want := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	if got := c.ObjectKind(); got != want {
		t.Errorf("ObjectKind() = %v, want %v", got, want)
	}
}
