// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"context"
	"errors"
	"sync"

	clientcache "k8s.io/client-go/tools/cache"
)

// informerSet is the informers of a program, which run together. They are measured as one informer,
// that of the largest collection, whose handlers and store are those of the set.
type informerSet struct {
	clientcache.SharedIndexInformer // of the largest collection

	all []clientcache.SharedIndexInformer
}

func newInformerSet(largest clientcache.SharedIndexInformer, others ...clientcache.SharedIndexInformer) informerSet {
	return informerSet{largest, append(others, largest)}
}

// RunWithContext runs the informers until ctx ends.
func (s informerSet) RunWithContext(ctx context.Context) {
	var group sync.WaitGroup
	for _, informer := range s.all {
		group.Go(func() { informer.RunWithContext(ctx) })
	}
	group.Wait()
}

// HasSynced reports whether all informers have synced.
func (s informerSet) HasSynced() bool {
	for _, informer := range s.all {
		if !informer.HasSynced() {
			return false
		}
	}
	return true
}

// SetWatchErrorHandlerWithContext sets the handler of all informers.
func (s informerSet) SetWatchErrorHandlerWithContext(handler clientcache.WatchErrorHandlerWithContext) (err error) {
	for _, informer := range s.all {
		err = errors.Join(err, informer.SetWatchErrorHandlerWithContext(handler))
	}
	return err
}
