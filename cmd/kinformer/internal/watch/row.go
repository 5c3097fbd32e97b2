// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// row is an object as a row of a Table: its metadata and the texts of its cells.
type row struct {
	metav1.PartialObjectMetadata

	cells []string
}

// errNoObject is a fault of the server, which was asked for the metadata of each row.
var errNoObject = errors.New("no object, which is a fault of the server")

// setMetadata decodes the metadata of the row's object.
func (r *row) setMetadata(object []byte) error {
	if len(object) == 0 {
		return errNoObject
	}
	if err := json.Unmarshal(object, &r.PartialObjectMetadata); err != nil {
		return fmt.Errorf("decode its object: %w", err)
	}
	r.ManagedFields = nil // not shown
	return nil
}

// firstCell returns the first cell, usually the name, or "".
func (r *row) firstCell() string {
	if len(r.cells) == 0 {
		return ""
	}
	return r.cells[0]
}

// DeepCopyObject implements runtime.Object.
func (r *row) DeepCopyObject() runtime.Object {
	return &row{PartialObjectMetadata: *r.DeepCopy(), cells: slices.Clone(r.cells)}
}

// rowList is a list of rows.
type rowList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []row
}

// DeepCopyObject implements runtime.Object.
func (l *rowList) DeepCopyObject() runtime.Object {
	copied := &rowList{TypeMeta: l.TypeMeta, ListMeta: *l.DeepCopy()}
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].DeepCopyObject().(*row))
	}
	return copied
}
