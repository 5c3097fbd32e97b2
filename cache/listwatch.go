package cache

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/tap"
)

// ListerWatcher is a collection of the API that can be listed and watched. Both
// methods pass the context and the options on to the server.
type ListerWatcher interface {
	// List returns a list object: a type with ListMeta and Items.
	List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)
	// Watch begins a watch at options.ResourceVersion.
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// ListFunc lists a collection.
type ListFunc func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)

// WatchFunc watches a collection.
type WatchFunc func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)

// ListWatch is a ListerWatcher of two functions. Both are required.
type ListWatch struct {
	ListFunc  ListFunc
	WatchFunc WatchFunc
	// Streaming says that the functions return what the server answered as it is,
	// so that it may be read from the stream instead (see EnableStreaming). Those
	// that filter, merge or change what they return must not set it: what they do
	// would be passed over. NewListWatchFromClient and ListWatchOf set it.
	Streaming bool

	items reflect.Type // the pointer type of what it lists, where it is known
	scope scope        // which of them
}

var _ ListerWatcher = (*ListWatch)(nil)

// List calls ListFunc.
func (lw *ListWatch) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if lw.ListFunc == nil {
		return nil, errNoListFunc
	}
	return lw.ListFunc(ctx, options)
}

// Watch calls WatchFunc.
func (lw *ListWatch) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if lw.WatchFunc == nil {
		return nil, errNoWatchFunc
	}
	return lw.WatchFunc(ctx, options)
}

var (
	errNoLister    = errors.New("the ListerWatcher is nil")
	errNoListFunc  = errors.New("the ListWatch has no ListFunc; perhaps it was made of a nil client")
	errNoWatchFunc = errors.New("the ListWatch has no WatchFunc")
)

// ListOptionsFunc changes the options of a request before it is sent: to select
// by label, say. It is called for each request with the options to change.
type ListOptionsFunc func(options *metav1.ListOptions)

// WithLabelSelector selects objects by their labels, on the server.
func WithLabelSelector(selector labels.Selector) ListOptionsFunc {
	return func(options *metav1.ListOptions) { options.LabelSelector = selector.String() }
}

// NewListWatchFromClient returns a ListWatch of a resource, such as "pods", in a
// namespace, or in all of them ("" or metav1.NamespaceAll). The field selector
// may be nil; modify, if given, changes the options of each list and watch.
func NewListWatchFromClient(client rest.Interface, resource, namespace string, fieldSelector fields.Selector, modify ...ListOptionsFunc) *ListWatch {
	if isNil(client) {
		return &ListWatch{}
	}
	client = withTap(client)
	known := scope{namespace: namespace, modify: modify}
	if fieldSelector != nil {
		known.modify = append([]ListOptionsFunc{func(options *metav1.ListOptions) {
			options.FieldSelector = fieldSelector.String()
		}}, modify...)
	}
	request := func(options metav1.ListOptions) *rest.Request {
		known.apply(&options)
		return client.Get().
			NamespaceIfScoped(namespace, namespace != metav1.NamespaceAll).
			Resource(resource).
			VersionedParams(&options, metav1.ParameterCodec)
	}
	return &ListWatch{
		Streaming: true,
		scope:     known,
		ListFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return request(options).Do(ctx).Get()
		},
		WatchFunc: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			return request(options).Watch(ctx)
		},
	}
}

// ListWatchOf returns a ListWatch of what a typed, dynamic or metadata client
// lists: clientset.CoreV1().Nodes(), or dynamicClient.Resource(gvr). It knows the
// type of its objects, and an informer of another type refuses it.
func ListWatchOf[L runtime.Object](client interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}, modify ...ListOptionsFunc) *ListWatch {
	if isNil(client) {
		return &ListWatch{}
	}
	known := scope{namespace: namespaceOf(client), modify: modify}
	apply := func(options metav1.ListOptions) metav1.ListOptions {
		known.apply(&options)
		return options
	}
	return &ListWatch{
		Streaming: true,
		scope:     known,
		items:     itemsOf(reflect.TypeFor[L]()),
		ListFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := client.List(ctx, apply(options))
			if err != nil {
				return nil, err
			}
			return list, nil
		},
		WatchFunc: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, apply(options))
		},
	}
}

// itemsOf returns the pointer type of a list type's items, nil if they may be of
// any type.
func itemsOf(list reflect.Type) reflect.Type {
	if list == nil || list.Kind() != reflect.Pointer || list.Elem().Kind() != reflect.Struct {
		return nil
	}
	if list == reflect.TypeFor[*unstructured.UnstructuredList]() {
		return reflect.TypeFor[*unstructured.Unstructured]()
	}
	items, ok := list.Elem().FieldByName("Items")
	if !ok || items.Type.Kind() != reflect.Slice {
		return nil
	}
	item := items.Type.Elem()
	if item.Kind() != reflect.Pointer {
		item = reflect.PointerTo(item)
	}
	if !item.Implements(reflect.TypeFor[metav1.Object]()) { // runtime.RawExtension, of a list of anything
		return nil
	}
	return item
}

// withTap returns a copy of a RESTClient whose transport has the tap; another
// client as it is.
func withTap(client rest.Interface) rest.Interface {
	original, ok := client.(*rest.RESTClient)
	if !ok || original == nil {
		return client
	}
	tapped := reflect.New(reflect.TypeFor[rest.RESTClient]()) // most of its fields are not ours to name
	tapped.Elem().Set(reflect.ValueOf(original).Elem())
	copied := tapped.Interface().(*rest.RESTClient)
	doer := http.Client{Transport: http.DefaultTransport}
	if original.Client != nil {
		doer = *original.Client
	}
	if doer.Transport == nil {
		doer.Transport = http.DefaultTransport
	}
	doer.Transport = tap.Wrap(doer.Transport)
	copied.Client = &doer
	return copied
}

// newSource returns the source that a ListerWatcher feeds, and the way that it
// takes.
func newSource(lw ListerWatcher, k kind) (feed.Source, *way) {
	classic := classicSource{lw, k}
	if known, ok := lw.(*ListWatch); ok && known != nil && known.Streaming && k.goType != nil {
		way := &way{}
		return streamSource{classic, way, newSharing(k)}, way
	}
	return classic, &way{why: whyForeign}
}

// checkSource returns an error if a ListerWatcher cannot feed objects of a kind.
func checkSource(lw ListerWatcher, k kind) error {
	if isNil(lw) {
		return errNoLister
	}
	known, ok := lw.(*ListWatch)
	switch {
	case !ok:
		return nil
	case known.ListFunc == nil:
		return errNoListFunc
	case known.WatchFunc == nil:
		return errNoWatchFunc
	case known.items != nil && known.items != k.goType:
		return fmt.Errorf("the ListWatch lists %s, not %s", known.items, k.goType)
	}
	return nil
}
