// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package collection holds all objects of a resource as an API server has sent them. The command
// reads a Collection from a cluster once, and serves it to each informer that it measures.
package collection

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Collection is the list of a resource.
type Collection struct {
	Resource schema.GroupVersionResource
	Kind     string // of an object, such as "Pod"
	ListKind string // of the list, such as "PodList"

	Namespaced bool

	// ContentType is the format of the items: runtime.ContentTypeProtobuf or
	// runtime.ContentTypeJSON.
	ContentType string
	// ResourceVersion is the list's version.
	ResourceVersion string
	// Items are the objects in the order of the list, as received: of protobuf the message of the
	// object inside the list, of JSON the object's text. They may share memory with each other.
	Items [][]byte
	// WireBytes is the size of the bodies that contained the items, decompressed.
	WireBytes int64
}

// ObjectKind returns the group, version and kind of an object.
func (c *Collection) ObjectKind() schema.GroupVersionKind {
	return c.Resource.GroupVersion().WithKind(c.Kind)
}

// Protobuf reports whether the items are protobuf messages.
func (c *Collection) Protobuf() bool { return c.ContentType == runtime.ContentTypeProtobuf }

// ItemBytes returns the size of all items.
func (c *Collection) ItemBytes() (total int64) {
	for _, item := range c.Items {
		total += int64(len(item))
	}
	return total
}

// Path returns the path of the resource in the API of a server, across all namespaces.
func (c *Collection) Path() string {
	if c.Resource.Group == "" {
		return strings.Join([]string{"/api", c.Resource.Version, c.Resource.Resource}, "/")
	}
	return strings.Join([]string{"/apis", c.Resource.Group, c.Resource.Version, c.Resource.Resource}, "/")
}
