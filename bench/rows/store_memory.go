// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/internal/eventlog"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/store"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// storeMemory is row store-memory: the memory of the store without the objects. That is keys, which
// each side makes, entries and an index by namespace. The objects are made before, and both sides
// use the same.
//
// The memory depends on whether the store is filled by a list or by events. Our side is
// internal/store with its log, filled as by a reflector; client-go's is an Indexer, filled by
// Replace or Add. All rounds have the same figures.
func storeMemory(scale Scale) []harness.Experiment {
	var experiments []harness.Experiment
	for _, n := range scale.StoreSizes {
		experiments = append(experiments, harness.Experiment{
			Row: "store-memory", Setup: fmt.Sprintf("%d entries", n), Sides: bothSides(), MaxRounds: 1,
			Metrics: []harness.Metric{
				{Name: "listed", Unit: "B/entry", Goal: harness.AtMost(1)},
				{Name: "added one by one", Unit: "B/entry", Goal: harness.AtMost(1), Detail: true},
			},
			Prepare: func() ([]harness.Measure, error) {
				objects := smallObjects(n)
				return []harness.Measure{
					heapPerEntry(objects, listIntoStore, watchIntoStore),
					heapPerEntry(objects, replaceInIndexer, addToIndexer),
				}, nil
			},
		})
	}
	return experiments
}

// fillFunc returns a store with the objects.
type fillFunc func([]*metav1.PartialObjectMetadata) (any, error)

// heapPerEntry measures the heap of each function's store, divided by its entries.
func heapPerEntry(objects []*metav1.PartialObjectMetadata, fills ...fillFunc) harness.Measure {
	return func() (figures []float64, err error) {
		for _, fill := range fills {
			before := process.LiveHeap()
			filled, err := fill(objects)
			if err != nil {
				return nil, err
			}
			figures = append(figures, (process.LiveHeap()-before)/float64(len(objects)))
			runtime.KeepAlive(filled)
		}
		return figures, nil
	}
}

func newLoggedStore() *store.Store {
	config := storeConfig()
	config.Log = eventlog.New[store.Change]()
	return store.New(config)
}

func listIntoStore(objects []*metav1.PartialObjectMetadata) (any, error) {
	s := newLoggedStore()
	list := s.NewFeed(store.FeedConfig{}).Begin()
	for _, object := range objects {
		list.Add(itemOf(object))
	}
	return s, list.Commit(strconv.Itoa(firstVersion))
}

func watchIntoStore(objects []*metav1.PartialObjectMetadata) (any, error) {
	s := newLoggedStore()
	events := s.NewFeed(store.FeedConfig{})
	for _, object := range objects {
		if events.Apply(watch.Added, itemOf(object)) != feed.Applied {
			return nil, errors.New("object not added")
		}
	}
	return s, nil
}

func replaceInIndexer(objects []*metav1.PartialObjectMetadata) (any, error) {
	indexer := newIndexer()
	list := make([]any, len(objects))
	for i, object := range objects {
		list[i] = object
	}
	return indexer, indexer.Replace(list, strconv.Itoa(firstVersion))
}

func addToIndexer(objects []*metav1.PartialObjectMetadata) (any, error) {
	indexer := newIndexer()
	for _, object := range objects {
		if err := indexer.Add(object); err != nil {
			return nil, err
		}
	}
	return indexer, nil
}
