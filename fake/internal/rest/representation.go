// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/fake/internal/codec"
	"github.com/kinformer/kinformer/fake/internal/history"
)

// writeObject answers with an object in the requested representation.
func (c *call) writeObject(code int, obj history.Object) error {
	representation, err := c.represent(obj)
	if err != nil {
		return err
	}
	return c.write(code, representation)
}

// represent converts an object in the served version to the requested representation.
func (c *call) represent(obj history.Object) (runtime.Object, error) {
	switch c.As {
	case codec.Metadata:
		return metadataOf(obj), nil
	case codec.MetadataList:
		return nil, notAcceptable(fmt.Sprintf("you requested PartialObjectMetadataList, but the requested object is not a list (%T)", obj))
	}
	return obj, nil
}

// writePage answers with a list in the requested representation.
func (c *call) writePage(page *history.Page) error {
	list, err := c.representPage(page)
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, list)
}

// representPage converts a page to the requested representation. A PartialObjectMetadataList has no
// shardInfo, as in the real server.
func (c *call) representPage(page *history.Page) (runtime.Object, error) {
	switch c.As {
	case "":
		return c.store.ListOf(page)
	case codec.MetadataList:
		list := &metav1.PartialObjectMetadataList{} // if there are none, items is null
		list.ListMeta = metav1.ListMeta{ResourceVersion: history.FormatVersion(page.Version), Continue: page.Continue, RemainingItemCount: page.Remaining}
		list.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(codec.MetadataList))
		for _, item := range page.Items {
			list.Items = append(list.Items, *metadataOf(item.Object))
		}
		return list, nil
	}
	return nil, notAcceptable(fmt.Sprintf("you requested PartialObjectMetadata, but the requested object is a list (%sList)", c.store.Kind.Kind))
}

// metadataOf returns an object's metadata, which it shares with the object.
func metadataOf(obj history.Object) *metav1.PartialObjectMetadata {
	partial := meta.AsPartialObjectMetadata(obj)
	partial.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(codec.Metadata))
	return partial
}
