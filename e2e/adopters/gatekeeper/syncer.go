// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"context"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
)

var configKind = schema.GroupVersionKind{Group: "config.gatekeeper.sh", Version: "v1alpha1", Kind: "Config"} //nolint:gochecknoglobals // a struct cannot be constant

// Data is the data cache of a policy engine.
type Data interface {
	Put(kind schema.GroupVersionKind, obj Object)
	Remove(kind schema.GroupVersionKind, key string)
	Wipe(kind schema.GroupVersionKind)
}

// Syncer keeps the objects of the kinds that Configs name in a data cache.
type Syncer struct {
	watches *Watches
	data    Data

	mu      sync.Mutex // guards the fields below
	configs map[string]map[schema.GroupVersionKind]bool
	synced  map[schema.GroupVersionKind]*Watch
}

// NewSyncer returns a Syncer that does not run.
func NewSyncer(watches *Watches, data Data) *Syncer {
	return &Syncer{
		watches: watches, data: data,
		configs: make(map[string]map[schema.GroupVersionKind]bool), synced: make(map[schema.GroupVersionKind]*Watch),
	}
}

// Run syncs until ctx ends.
func (s *Syncer) Run(ctx context.Context) error {
	watch, err := s.watches.Add(configKind, s.onConfig)
	if err != nil {
		return err
	}
	<-ctx.Done()
	watch.Stop()
	return nil
}

// Status returns the status of each kind that Configs name, with the reason if it is not synced.
func (s *Syncer) Status() map[schema.GroupVersionKind]cache.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := make(map[schema.GroupVersionKind]cache.Status)
	for kind, watch := range s.synced {
		status[kind] = watch.Status()
	}
	return status
}

// onConfig starts and ends the watches of kinds.
func (s *Syncer) onConfig(event cache.Event[Object]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.configs, event.Key); event.Type != cache.EventDelete {
		s.configs[event.Key] = kindsOf(event.New)
	}
	wanted := make(map[schema.GroupVersionKind]bool)
	for _, kinds := range s.configs {
		maps.Copy(wanted, kinds)
	}
	for kind, watch := range s.synced {
		if !wanted[kind] {
			watch.Stop()
			s.data.Wipe(kind)
			delete(s.synced, kind)
		}
	}
	for kind := range wanted {
		if s.synced[kind] == nil {
			s.add(kind)
		}
	}
}

func (s *Syncer) add(kind schema.GroupVersionKind) {
	watch, err := s.watches.Add(kind, func(event cache.Event[Object]) {
		if event.Type == cache.EventDelete {
			s.data.Remove(kind, event.Key)
		} else {
			s.data.Put(kind, event.New)
		}
	})
	if err != nil {
		klog.Background().Error(err, "Could not watch a kind", "kind", kind)
		return
	}
	s.synced[kind] = watch
}

// kindsOf returns the kinds that a Config names.
func kindsOf(config Object) map[schema.GroupVersionKind]bool {
	kinds := make(map[schema.GroupVersionKind]bool)
	entries, _, _ := unstructured.NestedSlice(config.Object, "spec", "sync", "syncOnly")
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		text := func(name string) string { value, _ := fields[name].(string); return value }
		if text("kind") != "" {
			kinds[schema.GroupVersionKind{Group: text("group"), Version: text("version"), Kind: text("kind")}] = true
		}
	}
	return kinds
}
