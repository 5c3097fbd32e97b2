// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"fmt"
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Adopt returns an informer of this package with the configuration of one of client-go's: the same
// list and watch functions, indexes, resync period, transform and watch error handler. The informer
// of client-go must not be used afterwards. Adopt is for the informers that generated code makes:
//
//	informer := clientgo.Adopt(informers.NewCertificateInformer(client, namespace, 0, indexers), clientgo.Options{})
//
// The list and watch functions must return the server's response unchanged, as those of generated
// code do. If they do not, set Options.DisableStreaming.
//
// An informer that was started, has handlers, or is not of a type of client-go is returned
// unchanged, with a warning in the log unless it is of this package. With Options.UseClientGo,
// every informer is returned unchanged.
func Adopt(informer clientcache.SharedIndexInformer, options Options) clientcache.SharedIndexInformer {
	return adopt(informer, settings{Options: options, unchanged: true})
}

// adopt implements Adopt with settings that have no options of client-go.
func adopt(informer clientcache.SharedIndexInformer, more settings) clientcache.SharedIndexInformer {
	if more.usesClientGo() {
		return informer
	}
	config, ok := extractConfig(informer)
	if !ok {
		if ownInformer(informer) == nil {
			klog.Background().Info("Warning: informer not adopted: it was started, has handlers, or is not client-go's",
				"implementation", fmt.Sprintf("%T", informer))
		}
		return informer
	}
	config.options.Indexers = informer.GetIndexer().GetIndexers()
	more.SharedIndexInformerOptions = config.options
	adopted := newInformer(config.listerWatcher, config.example, more)
	adopted.setTransform(config.transform)
	adopted.watchErrors.handler = config.watchErrorHandler
	return adopted
}

// informerConfig is the configuration of an informer of client-go.
type informerConfig struct {
	listerWatcher     clientcache.ListerWatcher
	example           runtime.Object
	options           clientcache.SharedIndexInformerOptions // without Indexers
	transform         clientcache.TransformFunc
	watchErrorHandler clientcache.WatchErrorHandlerWithContext
}

// extractConfig returns the configuration of an informer of client-go. It reports false if the
// informer was started, has handlers, or does not have the expected fields.
//
// It reads private fields by reflection. There is no other way: generated code makes these
// informers and wraps the list and watch functions, and the interface has no access to them.
func extractConfig(informer clientcache.SharedIndexInformer) (informerConfig, bool) {
	var c informerConfig
	inner := unwrap(informer)
	if !isClientGos(informer) || !isClientGos(inner) {
		return c, false
	}
	v := reflect.ValueOf(inner).Elem()
	ok := readField(v, "listerWatcher", &c.listerWatcher) &&
		readField(v, "objectType", &c.example) &&
		readField(v, "objectDescription", &c.options.ObjectDescription) &&
		readField(v, "defaultEventHandlerResyncPeriod", &c.options.ResyncPeriod) &&
		readField(v, "transform", &c.transform) &&
		readField(v, "watchErrorHandler", &c.watchErrorHandler) &&
		readField(v, "identifier", &c.options.Identifier) &&
		readField(v, "informerMetricsProvider", &c.options.InformerMetricsProvider)
	return c, ok && isUnused(v)
}

// isClientGos reports whether an informer is a pointer to a type of client-go. The methods of
// another type that embeds such an informer are the program's.
func isClientGos(informer clientcache.SharedInformer) bool {
	v := reflect.ValueOf(informer)
	clientGo := reflect.TypeFor[clientcache.ResourceEventHandlerFuncs]().PkgPath()
	return v.Kind() == reflect.Pointer && !v.IsNil() && v.Type().Elem().PkgPath() == clientGo
}

func isUnused(v reflect.Value) bool {
	started, processor := v.FieldByName("started"), v.FieldByName("processor")
	if started.Kind() != reflect.Bool || started.Bool() || processor.Kind() != reflect.Pointer || processor.IsNil() {
		return false
	}
	listeners := processor.Elem().FieldByName("listeners")
	return listeners.Kind() == reflect.Map && listeners.Len() == 0
}

// readField sets *to to the value of a struct's field. It reports false if the struct has no such
// field of type F.
func readField[F any](v reflect.Value, name string, to *F) bool {
	f := v.FieldByName(name)
	if !f.IsValid() || f.Type() != reflect.TypeFor[F]() {
		return false
	}
	*to = *(*F)(unsafe.Pointer(f.UnsafeAddr())) //nolint:gosec // the type is checked, and no other goroutine has the informer
	return true
}

// unwrap returns the informer that is embedded in the typed wrappers of client-go.
func unwrap(informer clientcache.SharedInformer) clientcache.SharedInformer {
	for {
		v := reflect.Indirect(reflect.ValueOf(informer))
		if v.Kind() != reflect.Struct {
			return informer
		}
		inner, ok := v.Type().FieldByName("SharedIndexInformer")
		if !ok || !inner.Anonymous {
			return informer
		}
		field, err := v.FieldByIndexErr(inner.Index)
		if err != nil { // an embedded pointer is nil
			return informer
		}
		wrapped, ok := reflect.TypeAssert[clientcache.SharedIndexInformer](field)
		if !ok {
			return informer
		}
		informer = wrapped
	}
}
