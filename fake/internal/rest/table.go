// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/fake/internal/codec"
	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

// tableOptions are the options of the Table representation.
type tableOptions struct {
	include   metav1.IncludeObjectPolicy // the part of the object to include in its row
	noColumns bool                       // an earlier event of the watch has sent the columns
}

func (c *call) tableOptions() tableOptions {
	return tableOptions{include: metav1.IncludeObjectPolicy(c.r.URL.Query().Get("includeObject"))}
}

// table returns the Table representation of objects. It includes wide columns, which clients omit
// unless the user asks for them.
func (c *call) table(listMeta metav1.ListMeta, objects []history.Object, opts tableOptions) (*metav1.Table, error) {
	table := &metav1.Table{ListMeta: listMeta, Rows: make([]metav1.TableRow, 0, len(objects))}
	table.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(codec.Table))
	if !opts.noColumns {
		for _, column := range c.store.Columns {
			table.ColumnDefinitions = append(table.ColumnDefinitions, column.TableColumnDefinition)
		}
	}
	for _, obj := range objects {
		row, err := rowOf(c.store.Columns, obj, opts.include)
		if err != nil {
			return nil, err
		}
		table.Rows = append(table.Rows, row)
	}
	return table, nil
}

func rowOf(columns []resource.Column, obj history.Object, include metav1.IncludeObjectPolicy) (metav1.TableRow, error) {
	var row metav1.TableRow
	for _, column := range columns {
		row.Cells = append(row.Cells, column.Cell(obj))
	}
	policies := []metav1.IncludeObjectPolicy{"", metav1.IncludeMetadata, metav1.IncludeObject, metav1.IncludeNone}
	switch {
	case !slices.Contains(policies, include):
		return row, apierrors.NewBadRequest(fmt.Sprintf("unrecognized includeObject value: %q", include))
	case include == metav1.IncludeObject:
		row.Object = runtime.RawExtension{Object: obj}
	case include == metav1.IncludeNone && obj.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "":
	default:
		row.Object = runtime.RawExtension{Object: metadataOf(obj)}
	}
	return row, nil
}
