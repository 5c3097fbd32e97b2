package informer

import (
	"context"

	"k8s.io/klog/v2"
)

// OmitFieldsNotFound returns the fields to omit that no object has had. It returns none before the
// first list with objects, which says nothing about fields.
func (i *Informer[V]) OmitFieldsNotFound() []string {
	if i.notFound == nil || !i.StoreHasSynced() || i.store.Len() == 0 {
		return nil
	}
	return i.notFound()
}

// logFieldsNotFound logs the result of OmitFieldsNotFound after the first list: a path may be
// misspelled.
func (i *Informer[V]) logFieldsNotFound(ctx context.Context) {
	if i.notFound == nil {
		return
	}
	select {
	case <-i.reflector.Synced():
	case <-ctx.Done():
		return
	}
	if paths := i.OmitFieldsNotFound(); len(paths) > 0 {
		klog.FromContext(ctx).Info("No object of the first list has these fields, which are to be omitted", "fields", paths)
	}
}
