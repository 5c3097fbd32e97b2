// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/errlog"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/store"
)

// storeConfig returns the configuration of a store for values of any type. report receives errors
// about single values.
func storeConfig(keyFunc clientcache.KeyFunc, indexers clientcache.Indexers, report func(key string, err error)) store.Config {
	return store.Config{
		Key: func(obj any) (string, error) {
			key, err := feed.CatchPanic(func() (string, error) { return keyFunc(obj) })
			if err != nil {
				return "", &keyError{obj, err}
			}
			return key, nil
		},
		Identity: func(obj any) (uid, resourceVersion string) {
			if accessor, err := meta.Accessor(obj); err == nil {
				return string(accessor.GetUID()), accessor.GetResourceVersion()
			}
			return "", ""
		},
		Indexers: indexFuncs(indexers),
		Report:   report,
	}
}

// keyError reports that a value has no key. Its text does not contain the value, which may be a
// Secret; that of client-go's KeyError does.
type keyError struct {
	obj any
	err error
}

func (e *keyError) Error() string {
	return fmt.Sprintf("no key for %T%s: %v", e.obj, codec.QuotedName(e.obj), e.err)
}

func (e *keyError) Unwrap() error { return e.err }

// toClientGo returns a keyError as a KeyError of client-go, for the callers of a Store: they use a
// type assertion. It returns other errors unchanged.
func toClientGo(err error) error {
	if e, ok := errors.AsType[*keyError](err); ok {
		return clientcache.KeyError{Obj: e.obj, Err: e.err}
	}
	return err
}

// objectLog logs a store's errors on objects, with the logger of the latest run.
type objectLog struct {
	*errlog.Objects

	values []any                       // that name the informer
	logger atomic.Pointer[klog.Logger] // of the latest run, if any
}

// newObjectLog returns an objectLog. hasStatus says that StatusOf has what is wrong.
func newObjectLog(hasStatus bool, keysAndValues ...any) *objectLog {
	return &objectLog{Objects: errlog.NewObjects(clock.RealClock{}, hasStatus), values: keysAndValues}
}

// begin returns the context of a run, whose logger names the informer.
func (l *objectLog) begin(ctx context.Context) context.Context {
	logger := l.named(klog.FromContext(ctx))
	l.logger.Store(&logger)
	return klog.NewContext(ctx, logger)
}

func (l *objectLog) named(logger klog.Logger) klog.Logger {
	return klog.LoggerWithValues(logger, l.values...)
}

// current returns the logger of the latest run or, before it, of the process.
func (l *objectLog) current() klog.Logger {
	if logger := l.logger.Load(); logger != nil {
		return *logger
	}
	return l.named(klog.Background())
}

func (l *objectLog) report(key string, err error) {
	effect, cause := feed.EffectOf(err)
	if effect == feed.NotPacked { // reported once, for all objects of the informer
		l.current().Info("Warning: objects of another type than the informer's are not packed. "+
			"Let the transform return objects of that type, or do not set Options.Packed", "reason", cause)
		return
	}
	l.Log(l.current(), key, effect, cause)
}

func indexFuncs(indexers clientcache.Indexers) map[string]store.IndexFunc {
	functions := make(map[string]store.IndexFunc, len(indexers))
	for name, index := range indexers {
		functions[name] = store.IndexFunc(index)
	}
	return functions
}

// itemIndexers returns the indexes that need no object: the index by namespace. Its function must
// accept metadata, since client-go's listers call it with an ObjectMeta.
func itemIndexers(indexers clientcache.Indexers) map[string]func(feed.Item) ([]string, error) {
	byNamespace := indexers[clientcache.NamespaceIndex]
	if byNamespace == nil {
		return nil
	}
	return map[string]func(feed.Item) ([]string, error){
		clientcache.NamespaceIndex: func(item feed.Item) ([]string, error) {
			namespace, name, err := clientcache.SplitMetaNamespaceKey(item.Key)
			if err != nil {
				return nil, err
			}
			return byNamespace(&metav1.ObjectMeta{Namespace: namespace, Name: name})
		},
	}
}
