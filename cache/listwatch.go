// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/source"
	"github.com/kinformer/kinformer/internal/tap"
)

// EnableStreaming prepares config so that informers read lists and watches straight from the
// response, for every client that is made of config, or of a copy of it, afterwards:
//
//	config, err := rest.InClusterConfig()
//	cache.EnableStreaming(config)
//	clientset, err := kubernetes.NewForConfig(config)
//
// The response to an informer's request is then split into objects as it arrives, so that a list is
// never in memory as a whole, and an object that cannot be decoded is an error on that object
// alone. Objects are equal to those that the client would have decoded. Objects of types with
// protobuf methods, as those of k8s.io/api, are requested as protobuf, whatever the client's
// configuration, and no object as CBOR. Authentication, TLS, proxies, timeouts and rate limits
// remain the client's; a Timeout of config includes the time in which a list's objects are decoded.
// Other requests are not affected.
//
// Without streaming, one object that cannot be decoded makes the client refuse the whole list, and
// the informer does not sync. Also, most clients of client-go repeat a request that was refused
// with a Retry-After, up to ten times for each attempt of the informer. The informer logs once that
// the client does so.
//
// If a response cannot be split (CBOR from a server that was not asked for it, or a transport that
// changes it), the informer uses the objects that the client decodes. Status.Requests.Streaming
// reports whether the last response was streamed, and Status.Requests.NotStreamingReason why it was
// not.
//
// A streamed list must state its kind. Versions need not be numbers: if that of the list is none,
// events are applied in the order of arrival (docs/contract.md, 5).
func EnableStreaming(config *rest.Config) { config.Wrap(tap.WrapRequested) }

// ListerWatcher lists and watches a collection of the API. Both methods must pass the context and
// the options on to the server.
type ListerWatcher interface {
	// List returns a list object, which has ListMeta and Items.
	List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)
	// Watch opens a watch from options.ResourceVersion.
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// ListWatch is a ListerWatcher made of two functions, both of which are required.
type ListWatch struct {
	ListFunc  func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)
	WatchFunc func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
	// Streaming declares that the functions return the server's response unchanged, so that
	// informers may read it from the stream (see EnableStreaming). It must not be set for functions
	// that filter, merge or change the response. The functions of this package that return a
	// ListWatch set it, except ListWatchFromClientGo.
	Streaming bool

	items       reflect.Type // the pointer type of the items; nil if unknown
	selected    selected
	noWatchList bool              // the functions cannot answer a WatchList
	probes      *reflector.Probes // of a Factory's informers of the resource; nil without one
	noRetries   bool              // the client does not repeat requests by itself

	isMostRecent bool // lists at any version are of the most recent state
}

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

// InNamespace declares that lw lists the objects of one namespace only, or of all namespaces if
// namespace is empty, and returns lw. It does not change the requests. It is needed for dynamic and
// metadata clients: without it, WaitForObject does not recognize an object of another namespace,
// and a Factory refuses the ListWatch. The namespace of typed clients is known.
func (lw *ListWatch) InNamespace(namespace string) *ListWatch {
	lw.selected.namespace = namespace
	lw.selected.known = lw.selected.known || lw.items != nil
	return lw
}

// isMostRecent reports whether all lists of a ListerWatcher are of the most recent state, so that
// the first one needs no version. Fakes that answer from memory declare it by the method.
func isMostRecent(lw ListerWatcher) bool {
	declares, ok := lw.(interface{ ListsMostRecent() bool })
	return asListWatch(lw).isMostRecent || ok && declares.ListsMostRecent()
}

var (
	errNoLister    = errors.New("the ListerWatcher is nil")
	errNoListFunc  = errors.New("the ListWatch has no ListFunc; it may have been made of a nil client")
	errNoWatchFunc = errors.New("the ListWatch has no WatchFunc")
)

// NewListWatchFromClient returns a ListWatch of a resource, such as "pods", in a namespace, or in
// all namespaces if that is metav1.NamespaceAll. The client must be that of the resource's API
// group. For custom resources with a Go type of the program, make the client with the program's
// scheme, and set the user agent, as rest.RESTClientFor sets none; see the example. The field
// selector may be nil. The client does not repeat refused requests by itself, with or without
// EnableStreaming: the informer does, after the server's Retry-After.
func NewListWatchFromClient(client rest.Interface, resource, namespace string, fieldSelector fields.Selector, modify ...func(options *metav1.ListOptions)) *ListWatch {
	if codec.IsNil(client) {
		return &ListWatch{}
	}
	if fieldSelector != nil {
		modify = append([]func(options *metav1.ListOptions){WithFieldSelector(fieldSelector)}, modify...)
	}
	known := selected{known: true, resource: resource, namespace: namespace, modify: modify, byNamespace: namespace == metav1.NamespaceAll}
	request := func(ctx context.Context, options metav1.ListOptions) *rest.Request {
		known.apply(ctx, &options)
		namespace := cmp.Or(namespace, scope.RequestOf(ctx).Namespace)
		return client.Get().
			NamespaceIfScoped(namespace, namespace != metav1.NamespaceAll).
			Resource(resource).
			VersionedParams(&options, metav1.ParameterCodec).
			MaxRetries(0) // the informer retries
	}
	return &ListWatch{
		Streaming: true,
		noRetries: true,
		selected:  known,
		ListFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return request(ctx, options).Do(ctx).Get()
		},
		WatchFunc: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			return request(ctx, options).Watch(ctx)
		},
	}
}

// ListWatchOf returns a ListWatch of the objects that a typed, dynamic or metadata client lists,
// such as clientset.CoreV1().Nodes() or dynamicClient.Resource(gvr). Run of an informer of another
// type returns an error.
//
// Each modify function changes the options of every list or watch request before it is sent, as
// those of WithLabelSelector and WithFieldSelector do. It must be safe for concurrent use and do
// the same each time.
func ListWatchOf[L runtime.Object](client interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}, modify ...func(options *metav1.ListOptions)) *ListWatch {
	if codec.IsNil(client) {
		return &ListWatch{}
	}
	known := selected{modify: slices.Clone(modify)}
	switch namespaced := any(client).(type) {
	case interface{ GetNamespace() string }: // client-go's typed clients
		known.known, known.namespace = true, namespaced.GetNamespace()
	case interface{ Namespace() string }: // client-go's fake ones
		known.known, known.namespace = true, namespaced.Namespace()
	}
	return typedListWatch(func(context.Context) typedClient[L] { return client }, known)
}

// typedClient is a client that returns lists of type L.
type typedClient[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// typedListWatch returns a ListWatch of what is selected. client returns the client for the context
// of a request.
func typedListWatch[L runtime.Object](client func(context.Context) typedClient[L], known selected) *ListWatch {
	return &ListWatch{
		Streaming: true,
		selected:  known,
		items:     codec.ItemType(reflect.TypeFor[L]()),
		ListFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			known.apply(ctx, &options)
			list, err := client(ctx).List(ctx, options)
			if err != nil {
				return nil, err
			}
			return list, nil
		},
		WatchFunc: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			known.apply(ctx, &options)
			return client(ctx).Watch(ctx, options)
		},
	}
}

// ListWatchByNamespace returns a ListWatch of the objects of all namespaces, for an informer with
// Scopes. client is the method of a clientset that returns the client of a namespace:
//
//	lw := cache.ListWatchByNamespace(clientset.CoreV1().Pods)
//
// A scope with a Namespace is requested by the path of the namespace, for which permissions in that
// namespace suffice. NewListWatchFromClient for all namespaces does the same. Any other
// ListerWatcher receives the field selector metadata.namespace=NAME, for which the program needs
// the permission to list all namespaces.
func ListWatchByNamespace[L runtime.Object, C interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}](client func(namespace string) C, modify ...func(options *metav1.ListOptions)) *ListWatch {
	if client == nil || codec.IsNil(client(metav1.NamespaceAll)) {
		return &ListWatch{}
	}
	known := selected{known: true, modify: slices.Clone(modify), byNamespace: true}
	return typedListWatch(func(ctx context.Context) typedClient[L] { return client(scope.RequestOf(ctx).Namespace) }, known)
}

// ListWatchFromClientGo returns a ListWatch that calls a ListerWatcher of client-go's tools/cache,
// with the request's context if its methods take one. Set Streaming of the result if they return
// the server's response unchanged.
func ListWatchFromClientGo(lw interface {
	List(options metav1.ListOptions) (runtime.Object, error)
	Watch(options metav1.ListOptions) (watch.Interface, error)
}) *ListWatch {
	if codec.IsNil(lw) {
		return &ListWatch{}
	}
	// client-go's FakeControllerSource answers from memory, and does not declare that.
	_, isControllerSource := lw.(interface{ AddDropWatch(obj runtime.Object) })
	converted := &ListWatch{
		ListFunc: func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) { return lw.List(options) },
		WatchFunc: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return lw.Watch(options)
		},
		noWatchList:  !knowsWatchList(lw),
		isMostRecent: isControllerSource,
	}
	if contextual, ok := lw.(interface {
		ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)
		WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
	}); ok {
		converted.ListFunc, converted.WatchFunc = contextual.ListWithContext, contextual.WatchWithContext
	}
	return converted
}

// knowsWatchList reports whether a ListerWatcher can answer a WatchList. client-go's fakes, which
// accept the request and never finish it, declare by a method that they cannot.
func knowsWatchList(lw any) bool {
	declares, ok := lw.(interface{ IsWatchListSemanticsUnSupported() bool })
	return !asListWatch(lw).noWatchList && (!ok || !declares.IsWatchListSemanticsUnSupported())
}

// scopedListWatch returns a ListerWatcher that restricts each request to scope.RequestOf of its
// context. A ListWatch of this package's functions does that itself, and is returned as it is.
func scopedListWatch(lw ListerWatcher) ListerWatcher {
	known, ok := lw.(*ListWatch)
	if codec.IsNil(lw) || ok && (known.selected.known || known.items != nil) {
		return lw
	}
	scoped := ListWatch{isMostRecent: isMostRecent(lw)}
	if ok {
		scoped = *known
	}
	scoped.ListFunc = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		scope.RequestOf(ctx).Apply(&options, true)
		feed.RestrictProbe(ctx, &options)
		return lw.List(ctx, options)
	}
	scoped.WatchFunc = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		scope.RequestOf(ctx).Apply(&options, true)
		return lw.Watch(ctx, options)
	}
	return &scoped
}

// asListWatch returns what is known of a ListerWatcher, which is nothing unless it is a ListWatch.
func asListWatch(lw any) ListWatch {
	if known, ok := lw.(*ListWatch); ok && known != nil {
		return *known
	}
	return ListWatch{}
}

func sourceConfig(lw ListerWatcher, objects codec.ObjectType) source.Config {
	known := asListWatch(lw)
	config := source.Config{ListerWatcher: lw, Objects: objects, Fake: !knowsWatchList(lw), NoClientRetries: known.noRetries}
	if known.Streaming {
		config.Streaming = source.Unchanged
	}
	return config
}

// objectsOf returns the type of T's objects, and an error if a ListerWatcher cannot list them.
func objectsOf[T runtime.Object](lw ListerWatcher, example T) (codec.ObjectType, error) {
	objects, err := objectType(example)
	known, ok := lw.(*ListWatch)
	switch {
	case err != nil:
	case codec.IsNil(lw):
		err = errNoLister
	case !ok:
	case known.ListFunc == nil:
		err = errNoListFunc
	case known.WatchFunc == nil:
		err = errNoWatchFunc
	case known.items != nil && known.items != objects.GoType:
		err = fmt.Errorf("the ListWatch lists %s, not %s", known.items, objects.GoType)
	}
	return objects, err
}

// newOf returns a new object of a pointer type, or the zero value of another type.
func newOf(t reflect.Type) any {
	if t.Kind() == reflect.Pointer {
		return reflect.New(t.Elem()).Interface()
	}
	return reflect.Zero(t).Interface()
}

// partialType is implemented by PartialObjects. The receiver may be nil.
type partialType interface {
	// types returns the type of the PartialObject, and its type arguments.
	types() (kept, api, fields reflect.Type)
}

// objectType returns the type of T's objects. The example may be a nil pointer.
func objectType[T runtime.Object](example T) (codec.ObjectType, error) {
	t := reflect.TypeFor[T]()
	switch t.Kind() {
	case reflect.Pointer:
	case reflect.Interface:
		return codec.ObjectType{}, fmt.Errorf("the type argument %s is an interface: use the objects' pointer type, such as *v1.Pod", t)
	default:
		return codec.ObjectType{}, fmt.Errorf("the type argument %s is no pointer: use the objects' pointer type, such as *v1.Pod", t)
	}
	if partial, ok := newOf(t).(partialType); ok {
		kept, api, fields := partial.types()
		if kept != t {
			return codec.ObjectType{}, fmt.Errorf("the type argument %s embeds a PartialObject: use %s", t, kept)
		}
		return codec.PartialTypeOf(t, api, fields, example)
	}
	return codec.TypeOf(t, example), nil
}
