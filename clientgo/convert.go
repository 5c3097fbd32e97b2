package clientgo

import (
	"reflect"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// adopt returns an informer of ours that is like one of client-go's, which must not be used
// any more. One that is not client-go's, or in use already, is returned as it is.
func adopt(like clientcache.SharedIndexInformer, options FactoryOptions) clientcache.SharedIndexInformer {
	parts, ok := takeApart(like)
	if !ok {
		if _, ours := unwrap(like).(*sharedIndexInformer); !ours {
			klog.Background().V(2).Info("An informer stays what it is: it is in use, or none of client-go's", "type", reflect.TypeOf(like))
		}
		return like
	}
	own := options.with(like.GetIndexer().GetIndexers(), parts.identifier)
	if own.InformerMetricsProvider == nil {
		own.InformerMetricsProvider = parts.metrics
	}
	own.ResyncPeriod = parts.resync
	if own.ObjectDescription == "" {
		own.ObjectDescription = parts.description
	}
	made := newInformer(parts.lw, parts.example, own)
	made.setTransform(parts.transform)
	made.failures.handler = parts.failed
	return made
}

// parts are what an informer of client-go's was made of.
type parts struct {
	lw          clientcache.ListerWatcher
	example     runtime.Object
	description string
	resync      time.Duration
	transform   clientcache.TransformFunc
	failed      clientcache.WatchErrorHandlerWithContext
	identifier  clientcache.InformerNameAndResource
	metrics     clientcache.InformerMetricsProvider
}

// takeApart returns what an informer of client-go's was made of. Generated code makes such,
// and wraps the list and watch functions so that there is no other way to get at them. It
// tells whether the informer is one that can be taken apart: not started, without handlers,
// and of a client-go whose informers have these fields.
func takeApart(informer clientcache.SharedIndexInformer) (parts, bool) {
	var p parts
	v := reflect.ValueOf(unwrap(informer))
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct || v.Type().Elem().PkgPath() != clientPackage {
		return p, false
	}
	v = v.Elem()
	ok := field(v, "listerWatcher", &p.lw) && field(v, "objectType", &p.example) && field(v, "objectDescription", &p.description) &&
		field(v, "defaultEventHandlerResyncPeriod", &p.resync) && field(v, "transform", &p.transform) && field(v, "watchErrorHandler", &p.failed) &&
		field(v, "identifier", &p.identifier) && field(v, "informerMetricsProvider", &p.metrics)
	return p, ok && unused(v)
}

// clientPackage is where client-go's informers come from.
var clientPackage = reflect.TypeFor[clientcache.ResourceEventHandlerFuncs]().PkgPath() //nolint:gochecknoglobals // a constant

// unused tells whether an informer of client-go's was neither started nor given a handler.
func unused(v reflect.Value) bool {
	started, processor := v.FieldByName("started"), v.FieldByName("processor")
	if started.Kind() != reflect.Bool || started.Bool() || processor.Kind() != reflect.Pointer || processor.IsNil() {
		return false
	}
	listeners := processor.Elem().FieldByName("listeners")
	return listeners.Kind() == reflect.Map && listeners.Len() == 0
}

// field reads a field of a struct into *to, if it has that type.
func field[F any](v reflect.Value, name string, to *F) bool {
	f := v.FieldByName(name)
	if !f.IsValid() || f.Type() != reflect.TypeFor[F]() {
		return false
	}
	*to = *(*F)(unsafe.Pointer(f.UnsafeAddr())) //nolint:gosec // of exactly that type, and read before anybody else has it
	return true
}

// unwrap returns the informer in client-go's typed wrappers.
func unwrap(informer clientcache.SharedIndexInformer) clientcache.SharedIndexInformer {
	for {
		v := reflect.Indirect(reflect.ValueOf(informer))
		if v.Kind() != reflect.Struct {
			return informer
		}
		inner, ok := v.Type().FieldByName("SharedIndexInformer")
		if !ok || !inner.Anonymous {
			return informer
		}
		wrapped, ok := reflect.TypeAssert[clientcache.SharedIndexInformer](v.FieldByIndex(inner.Index))
		if !ok {
			return informer
		}
		informer = wrapped
	}
}
