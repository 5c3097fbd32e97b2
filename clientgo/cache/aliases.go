// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import clientcache "k8s.io/client-go/tools/cache"

// Constants of client-go.
const (
	Added                 = clientcache.Added
	Bookmark              = clientcache.Bookmark
	Deleted               = clientcache.Deleted
	NamespaceIndex        = clientcache.NamespaceIndex
	Replaced              = clientcache.Replaced
	ReplacedAll           = clientcache.ReplacedAll
	Sync                  = clientcache.Sync
	SyncAll               = clientcache.SyncAll
	TransactionTypeAdd    = clientcache.TransactionTypeAdd
	TransactionTypeDelete = clientcache.TransactionTypeDelete
	TransactionTypeUpdate = clientcache.TransactionTypeUpdate
	Updated               = clientcache.Updated
)

// Errors of client-go.
var (
	ErrFIFOClosed             = clientcache.ErrFIFOClosed
	ErrZeroLengthDeltasObject = clientcache.ErrZeroLengthDeltasObject
)

// Types of client-go.
type (
	AppendFunc                        = clientcache.AppendFunc
	BookmarkInfo                      = clientcache.BookmarkInfo
	Config                            = clientcache.Config
	Controller                        = clientcache.Controller
	CounterMetric                     = clientcache.CounterMetric
	DeletedFinalStateUnknown          = clientcache.DeletedFinalStateUnknown
	Delta                             = clientcache.Delta
	DeltaFIFO                         = clientcache.DeltaFIFO
	DeltaFIFOOptions                  = clientcache.DeltaFIFOOptions
	DeltaType                         = clientcache.DeltaType
	Deltas                            = clientcache.Deltas
	DoneChecker                       = clientcache.DoneChecker
	ExpirationCache                   = clientcache.ExpirationCache
	ExpirationPolicy                  = clientcache.ExpirationPolicy
	ExplicitKey                       = clientcache.ExplicitKey
	FIFO                              = clientcache.FIFO
	FakeCustomStore                   = clientcache.FakeCustomStore
	FakeExpirationPolicy              = clientcache.FakeExpirationPolicy
	FilteringResourceEventHandler     = clientcache.FilteringResourceEventHandler
	GaugeMetric                       = clientcache.GaugeMetric
	GenericLister                     = clientcache.GenericLister
	GenericNamespaceLister            = clientcache.GenericNamespaceLister
	Getter                            = clientcache.Getter
	HandlerOptions                    = clientcache.HandlerOptions
	Heap                              = clientcache.Heap
	HistogramMetric                   = clientcache.HistogramMetric
	IndexFunc                         = clientcache.IndexFunc
	Indexer                           = clientcache.Indexer
	Indexers                          = clientcache.Indexers
	Indices                           = clientcache.Indices
	InformerMetricsProvider           = clientcache.InformerMetricsProvider
	InformerName                      = clientcache.InformerName
	InformerNameAndResource           = clientcache.InformerNameAndResource
	InformerOptions                   = clientcache.InformerOptions
	InformerSynced                    = clientcache.InformerSynced
	KeyError                          = clientcache.KeyError
	KeyFunc                           = clientcache.KeyFunc
	KeyGetter                         = clientcache.KeyGetter
	KeyLister                         = clientcache.KeyLister
	KeyListerGetter                   = clientcache.KeyListerGetter
	LessFunc                          = clientcache.LessFunc
	ListFunc                          = clientcache.ListFunc
	ListWatch                         = clientcache.ListWatch
	ListWithContextFunc               = clientcache.ListWithContextFunc
	Lister                            = clientcache.Lister
	ListerWatcher                     = clientcache.ListerWatcher
	ListerWatcherWithContext          = clientcache.ListerWatcherWithContext
	ListerWithContext                 = clientcache.ListerWithContext
	MetricsProvider                   = clientcache.MetricsProvider
	MutationCache                     = clientcache.MutationCache
	MutationDetector                  = clientcache.MutationDetector
	ObjectName                        = clientcache.ObjectName
	PopProcessFunc                    = clientcache.PopProcessFunc
	ProcessBatchFunc                  = clientcache.ProcessBatchFunc
	ProcessFunc                       = clientcache.ProcessFunc
	Queue                             = clientcache.Queue
	QueueWithBatch                    = clientcache.QueueWithBatch
	RealFIFO                          = clientcache.RealFIFO
	RealFIFOOptions                   = clientcache.RealFIFOOptions
	Reflector                         = clientcache.Reflector
	ReflectorBookmarkStore            = clientcache.ReflectorBookmarkStore
	ReflectorOptions                  = clientcache.ReflectorOptions
	ReflectorStore                    = clientcache.ReflectorStore
	ReplacedAllInfo                   = clientcache.ReplacedAllInfo
	ResourceEventHandler              = clientcache.ResourceEventHandler
	ResourceEventHandlerDetailedFuncs = clientcache.ResourceEventHandlerDetailedFuncs
	ResourceEventHandlerFuncs         = clientcache.ResourceEventHandlerFuncs
	ResourceEventHandlerRegistration  = clientcache.ResourceEventHandlerRegistration
	ResourceVersionComparator         = clientcache.ResourceVersionComparator
	ResourceVersionUpdater            = clientcache.ResourceVersionUpdater
	RetryWithDeadline                 = clientcache.RetryWithDeadline
	SharedIndexInformer               = clientcache.SharedIndexInformer
	SharedIndexInformerOptions        = clientcache.SharedIndexInformerOptions
	SharedInformer                    = clientcache.SharedInformer
	ShouldResyncFunc                  = clientcache.ShouldResyncFunc
	Store                             = clientcache.Store
	StoreOption                       = clientcache.StoreOption
	SummaryMetric                     = clientcache.SummaryMetric
	SyncAllInfo                       = clientcache.SyncAllInfo
	SyncResult                        = clientcache.SyncResult
	TTLPolicy                         = clientcache.TTLPolicy
	ThreadSafeStore                   = clientcache.ThreadSafeStore
	ThreadSafeStoreOption             = clientcache.ThreadSafeStoreOption
	ThreadSafeStoreTransaction        = clientcache.ThreadSafeStoreTransaction
	ThreadSafeStoreWithTransaction    = clientcache.ThreadSafeStoreWithTransaction
	TimestampedEntry                  = clientcache.TimestampedEntry
	Transaction                       = clientcache.Transaction
	TransactionError                  = clientcache.TransactionError
	TransactionStore                  = clientcache.TransactionStore
	TransactionType                   = clientcache.TransactionType
	TransformFunc                     = clientcache.TransformFunc
	TransformingStore                 = clientcache.TransformingStore
	UndeltaStore                      = clientcache.UndeltaStore
	VeryShortWatchError               = clientcache.VeryShortWatchError
	WatchErrorHandler                 = clientcache.WatchErrorHandler
	WatchErrorHandlerWithContext      = clientcache.WatchErrorHandlerWithContext
	WatchFunc                         = clientcache.WatchFunc
	WatchFuncWithContext              = clientcache.WatchFuncWithContext
	Watcher                           = clientcache.Watcher
	WatcherWithContext                = clientcache.WatcherWithContext
)
