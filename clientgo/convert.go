package clientgo

import (
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// convert returns an informer with the configuration of one of client-go's, which must not be used
// afterwards. It returns an informer unchanged that is in use, or not client-go's. objects is the
// type to log.
func convert(informer clientcache.SharedIndexInformer, objects reflect.Type, options FactoryOptions) clientcache.SharedIndexInformer {
	config, ok := extractConfig(informer)
	if !ok {
		if _, own := unwrap(informer).(*sharedIndexInformer); !own {
			klog.Background().V(2).Info("Informer not converted: it is in use or not client-go's",
				"informer", fmt.Sprint(objects), "implementation", fmt.Sprintf("%T", informer))
		}
		return informer
	}
	own := options.with(informer.GetIndexer().GetIndexers(), config.identifier)
	if own.InformerMetricsProvider == nil {
		own.InformerMetricsProvider = config.metricsProvider
	}
	own.ResyncPeriod = config.resyncPeriod
	if own.ObjectDescription == "" {
		own.ObjectDescription = config.description
	}
	converted := newInformer(config.listerWatcher, config.example, own)
	converted.setTransform(config.transform)
	converted.watchErrors.handler = config.watchErrorHandler
	return converted
}

// informerConfig is the configuration of an informer of client-go.
type informerConfig struct {
	listerWatcher     clientcache.ListerWatcher
	example           runtime.Object
	description       string
	resyncPeriod      time.Duration
	transform         clientcache.TransformFunc
	watchErrorHandler clientcache.WatchErrorHandlerWithContext
	identifier        clientcache.InformerNameAndResource
	metricsProvider   clientcache.InformerMetricsProvider
}

// extractConfig returns the configuration of an informer of client-go. It reports false if the
// informer was started, has handlers, or does not have the expected fields.
//
// It reads private fields by reflection. There is no other way: generated code makes these
// informers and wraps the list and watch functions, and the interface has no access to them.
func extractConfig(informer clientcache.SharedIndexInformer) (informerConfig, bool) {
	var c informerConfig
	v := reflect.ValueOf(unwrap(informer))
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct || v.Type().Elem().PkgPath() != clientGoPackage {
		return c, false
	}
	v = v.Elem()
	ok := readField(v, "listerWatcher", &c.listerWatcher) &&
		readField(v, "objectType", &c.example) &&
		readField(v, "objectDescription", &c.description) &&
		readField(v, "defaultEventHandlerResyncPeriod", &c.resyncPeriod) &&
		readField(v, "transform", &c.transform) &&
		readField(v, "watchErrorHandler", &c.watchErrorHandler) &&
		readField(v, "identifier", &c.identifier) &&
		readField(v, "informerMetricsProvider", &c.metricsProvider)
	return c, ok && isUnused(v)
}

// clientGoPackage is the path of the package of client-go's informers.
var clientGoPackage = reflect.TypeFor[clientcache.ResourceEventHandlerFuncs]().PkgPath() //nolint:gochecknoglobals // a constant

// isUnused reports whether an informer of client-go was not started and has no handler.
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
