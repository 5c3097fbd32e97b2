package watch

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// row is an object as a row of a Table: its metadata and the texts of its cells.
type row struct {
	metav1.PartialObjectMetadata

	cells []string
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
