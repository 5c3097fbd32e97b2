// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"weak"

	"k8s.io/klog/v2"
)

// StateFuncs returns functions that report whether the informer runs, and whether its store has the
// state that an object had at a resourceVersion, without fields that the object had. They do not keep
// the informer alive.
func (i *Informer[V]) StateFuncs() (running func() bool, state func(key, uid, resourceVersion string) bool) {
	pointer := weak.Make(i)
	running = func() bool {
		informer := pointer.Value()
		if informer == nil {
			return false
		}
		informer.mu.Lock()
		defer informer.mu.Unlock()
		return informer.phase == started
	}
	state = func(key, uid, resourceVersion string) bool {
		informer := pointer.Value()
		return informer != nil && informer.store.HasOmitted(key, uid, resourceVersion)
	}
	return running, state
}

// OmitFieldsNotFound returns the fields to omit that may be misspelled: no object has had them, and
// the type of the objects is not known to have them. It returns none before the first list with
// objects, which says nothing about fields.
func (i *Informer[V]) OmitFieldsNotFound() []string {
	if i.config.NotFound == nil || !i.StoreHasSynced() || i.store.Len() == 0 {
		return nil
	}
	return i.config.NotFound()
}

// logFieldsNotFound logs the result of OmitFieldsNotFound after the first list.
func (i *Informer[V]) logFieldsNotFound(ctx context.Context) {
	if i.config.NotFound == nil {
		return
	}
	select {
	case <-i.reflector.Synced():
	case <-ctx.Done(): // perhaps after the first list
	}
	if paths := i.OmitFieldsNotFound(); len(paths) > 0 {
		klog.FromContext(ctx).Info("Fields to omit were not found in any object of the first list", "fields", paths)
	}
}
