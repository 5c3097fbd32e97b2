package rows

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/eventlog"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/store"
)

// The memory of the store without objects: keys, which each side makes for itself,
// entries, and one index by namespace. The objects are there before and are the
// same for both.
//
// It depends on how the store came to be: from a list at once, or entry by entry
// as events come. Ours is internal/store with its log, fed as a reflector does;
// client-go's is the Indexer, with Replace or Add.

func memory(scale Scale) []harness.Experiment {
	var experiments []harness.Experiment
	for _, n := range scale.Entries {
		experiments = append(experiments, harness.Experiment{
			Name: "memory", What: fmt.Sprintf("store of %d without objects", n), Sides: versus(), Rounds: 3,
			Metrics: []harness.Metric{
				{What: "listed", Unit: "B/entry", Goal: harness.AtMost(1)},
				{What: "added one by one", Unit: "B/entry", Goal: harness.AtMost(1)},
			},
			Prepare: func() ([]harness.Measure, error) {
				objects := smallObjects(n)
				return []harness.Measure{
					heapOf(objects, oursListed, oursWatched),
					heapOf(objects, theirsListed, theirsAdded),
				}, nil
			},
		})
	}
	return experiments
}

// builder makes a store of objects and returns it.
type builder func([]*metav1.PartialObjectMetadata) (any, error)

// heapOf measures what each builder's store takes, for each entry.
func heapOf(objects []*metav1.PartialObjectMetadata, builders ...builder) harness.Measure {
	return func() (figures []float64, err error) {
		for _, build := range builders {
			before := heap()
			kept, err := build(objects)
			if err != nil {
				return nil, err
			}
			figures = append(figures, (float64(heap())-float64(before))/float64(len(objects)))
			runtime.KeepAlive(kept)
		}
		return figures, nil
	}
}

// heap returns the bytes in use. Twice, since what has a finalizer goes late.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func newLoggedStore() *store.Store[*metav1.PartialObjectMetadata] {
	return store.New(store.Config[*metav1.PartialObjectMetadata]{
		Key:      cache.MetaNamespaceKeyFunc[*metav1.PartialObjectMetadata],
		ItemKeys: true,
		Identity: func(o *metav1.PartialObjectMetadata) (string, string) { return string(o.UID), o.ResourceVersion },
		Decode: func(item feed.Item) (*metav1.PartialObjectMetadata, error) {
			return item.Object.(*metav1.PartialObjectMetadata), nil
		},
		Indexers: map[string]store.IndexFunc[*metav1.PartialObjectMetadata]{
			cache.NamespaceIndex: namespaceIndex[*metav1.PartialObjectMetadata],
		},
		Report: func(key string, err error) { panic(fmt.Sprintf("%s: %v", key, err)) },
		Log:    eventlog.New[store.Change[*metav1.PartialObjectMetadata]](),
	})
}

func oursListed(objects []*metav1.PartialObjectMetadata) (any, error) {
	s := newLoggedStore()
	list := s.Begin()
	for _, object := range objects {
		list.Add(itemOf(object))
	}
	return s, list.Commit(strconv.Itoa(firstVersion))
}

func oursWatched(objects []*metav1.PartialObjectMetadata) (any, error) {
	s := newLoggedStore()
	for _, object := range objects {
		if s.Apply(watch.Added, itemOf(object)) != feed.Applied {
			return nil, errors.New("an object was not added")
		}
	}
	return s, nil
}

func theirsListed(objects []*metav1.PartialObjectMetadata) (any, error) {
	indexer := newIndexer()
	list := make([]any, len(objects))
	for i, object := range objects {
		list[i] = object
	}
	return indexer, indexer.Replace(list, strconv.Itoa(firstVersion))
}

func theirsAdded(objects []*metav1.PartialObjectMetadata) (any, error) {
	indexer := newIndexer()
	for _, object := range objects {
		if err := indexer.Add(object); err != nil {
			return nil, err
		}
	}
	return indexer, nil
}
