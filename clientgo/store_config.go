// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
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
func storeConfig(keyFunc clientcache.KeyFunc, indexers clientcache.Indexers, report func(key string, err error)) store.Config[any] {
	return store.Config[any]{
		Key: func(obj any) (string, error) {
			key, err := feed.CatchPanic(func() (string, error) { return keyFunc(obj) })
			if err != nil {
				return "", &keyError{obj, err}
			}
			return key, nil
		},
		Identity: identity,
		Indexers: indexFuncs(indexers),
		Report:   report,
	}
}

// keyError is the error of a value without a key. Unlike that of client-go's KeyError, its text
// does not contain the value, which may be a Secret.
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

// objectLog logs a store's errors on objects.
type objectLog struct{ *errlog.Objects }

// newObjectLog returns an objectLog. hasStatus says that StatusOf has what is wrong.
func newObjectLog(hasStatus bool) objectLog {
	return objectLog{errlog.NewObjects(clock.RealClock{}, hasStatus)}
}

func (l objectLog) log(logger klog.Logger, key string, err error) {
	effect := feed.NotStored
	if known, ok := errors.AsType[*feed.EffectError](err); ok {
		effect, err = known.Effect, known.Err
	}
	if effect == feed.NotPacked { // reported once, for all objects of the informer
		logger.Info("Warning: objects of another type than the informer's are not packed. "+
			"Let the transform return objects of that type, or do not set Options.Packed", "reason", err)
		return
	}
	l.Log(logger, key, effect, err)
}

// identity returns the UID and resourceVersion of a value, or empty strings if it has no metadata.
func identity(obj any) (uid, resourceVersion string) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return "", ""
	}
	return string(accessor.GetUID()), accessor.GetResourceVersion()
}

func indexFuncs(indexers clientcache.Indexers) map[string]store.IndexFunc[any] {
	functions := make(map[string]store.IndexFunc[any], len(indexers))
	for name, index := range indexers {
		functions[name] = store.IndexFunc[any](index)
	}
	return functions
}
