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

// show answers with an object in the form that is asked for.
func (c *call) show(code int, obj history.Object) error {
	form, err := c.form(obj, c.tableOptions())
	if err != nil {
		return err
	}
	return c.answer(code, form)
}

// form turns an object, as served, into what is asked for.
func (c *call) form(obj history.Object, table tableOptions) (runtime.Object, error) {
	switch c.As {
	case codec.Metadata:
		return metadataOf(obj), nil
	case codec.Table:
		return c.table(metav1.ListMeta{ResourceVersion: obj.GetResourceVersion()}, []history.Object{obj}, table)
	case codec.MetadataList:
		return nil, wrongForm(fmt.Sprintf("you requested PartialObjectMetadataList, but the requested object is not a list (%T)", obj))
	}
	return obj, nil
}

// showPage answers with a list in the form that is asked for.
func (c *call) showPage(page *history.Page) error {
	list, err := c.listForm(page)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, list)
}

func (c *call) listForm(page *history.Page) (runtime.Object, error) {
	if c.As == "" {
		return c.store.ListOf(page)
	}
	listMeta := metav1.ListMeta{ResourceVersion: history.FormatVersion(page.Version), Continue: page.Continue, RemainingItemCount: page.Remaining}
	switch c.As {
	case codec.MetadataList:
		list := &metav1.PartialObjectMetadataList{ListMeta: listMeta, Items: make([]metav1.PartialObjectMetadata, len(page.Items))}
		list.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(codec.MetadataList))
		for i, item := range page.Items {
			list.Items[i] = *metadataOf(item.Object)
		}
		return list, nil
	case codec.Table:
		objects := make([]history.Object, len(page.Items))
		for i, item := range page.Items {
			objects[i] = c.store.Present(item.Object)
		}
		return c.table(listMeta, objects, c.tableOptions())
	}
	return nil, wrongForm(fmt.Sprintf("you requested PartialObjectMetadata, but the requested object is a list (%sList)", c.store.Kind.Kind))
}

// metadataOf returns an object's metadata, shared with it.
func metadataOf(obj history.Object) *metav1.PartialObjectMetadata {
	partial := meta.AsPartialObjectMetadata(obj)
	partial.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(codec.Metadata))
	return partial
}
