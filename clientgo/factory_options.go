package clientgo

import (
	"maps"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcache "k8s.io/client-go/tools/cache"
)

// FactoryOptions are the options of a factory, and of each of its informers. The zero value
// is client-go's behaviour, in all namespaces.
type FactoryOptions struct {
	// Options are those of each informer. Indexers are more indexes than client-go's
	// factories make, which are by namespace.
	Options
	// Namespace is the one that is watched; all if empty.
	Namespace string
	// TweakListOptions, if set, changes the options of each list and watch: to select by
	// label, say. It may be called by several goroutines at once.
	TweakListOptions func(options *metav1.ListOptions)
	// Transform, if set, is each informer's (see SetTransform).
	Transform clientcache.TransformFunc
	// InformerName, if set, names the informers in client-go's metrics, each with its
	// resource.
	InformerName *clientcache.InformerName
	// CustomResync are resync periods by the types of objects. Only NewSharedInformerFactory
	// knows types.
	CustomResync map[metav1.Object]time.Duration
}

// resyncOf returns the resync period of objects of a type.
func (o FactoryOptions) resyncOf(objects reflect.Type) time.Duration {
	for example, period := range o.CustomResync {
		if reflect.TypeOf(example) == objects {
			return period
		}
	}
	return o.ResyncPeriod
}

// with returns the options of an informer that has some indexes already.
func (o FactoryOptions) with(indexers clientcache.Indexers, identifier clientcache.InformerNameAndResource) Options {
	options := o.Options
	options.Identifier = identifier
	options.Indexers = clientcache.Indexers{}
	maps.Copy(options.Indexers, indexers)
	maps.Copy(options.Indexers, o.Indexers)
	return options
}

// tweaked returns the options of a request.
func (o FactoryOptions) tweaked(options metav1.ListOptions) metav1.ListOptions {
	if o.TweakListOptions != nil {
		o.TweakListOptions(&options)
	}
	return options
}
