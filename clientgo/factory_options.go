package clientgo

import (
	"maps"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcache "k8s.io/client-go/tools/cache"
)

// FactoryOptions are the options of a factory. With the zero value it behaves as client-go's, in
// all namespaces.
type FactoryOptions struct {
	// Options are the options of each informer. Indexers are added to the index by namespace that
	// client-go's factories make.
	Options
	// Namespace is the namespace to watch. The default is all namespaces.
	Namespace string
	// TweakListOptions, if set, changes the options of each list and watch request, for example to
	// select objects by label. It must be safe for concurrent use.
	TweakListOptions func(options *metav1.ListOptions)
	// Transform, if set, is the transform of each informer.
	Transform clientcache.TransformFunc
	// InformerName, if set, names the informers in client-go's metrics, each with its resource.
	InformerName *clientcache.InformerName
	// CustomResync are resync periods by type of object. Only NewSharedInformerFactory uses them.
	CustomResync map[metav1.Object]time.Duration
}

// resyncPeriod returns the resync period for objects of a type.
func (o FactoryOptions) resyncPeriod(objects reflect.Type) time.Duration {
	for example, period := range o.CustomResync {
		if reflect.TypeOf(example) == objects {
			return period
		}
	}
	return o.ResyncPeriod
}

// with returns the options of an informer with further indexes.
func (o FactoryOptions) with(indexers clientcache.Indexers, identifier clientcache.InformerNameAndResource) Options {
	options := o.Options
	options.Identifier = identifier
	options.Indexers = clientcache.Indexers{}
	maps.Copy(options.Indexers, indexers)
	maps.Copy(options.Indexers, o.Indexers)
	return options
}

// tweak returns options as TweakListOptions changes them.
func (o FactoryOptions) tweak(options metav1.ListOptions) metav1.ListOptions {
	if o.TweakListOptions != nil {
		o.TweakListOptions(&options)
	}
	return options
}
