// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	goruntime "runtime"
	"sync"
	"time"
	"unsafe"
	"weak"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/tap"
)

// clientTap says how the responses to a client are read.
type clientTap struct {
	isOwn   bool   // the tap is in a copy of the program's client, which has not asked for it
	missing string // why there is no tap; empty if that is not known
	client  *clientCopy
}

// start returns the start of an informer that asks for the most recent version first. The informers
// of a resource share what the server answers, whatever factories of the client have made them. If
// the resource is not known, the Go type stands for it, but only with client-go's own clientset:
// informers of another one may list several resources into one type.
func (t clientTap) start(objects codec.ObjectType, resource schema.GroupVersionResource) *reflector.Start {
	if t.client == nil || resource.Empty() && t.client.original.Type() != reflect.TypeFor[kubernetes.Clientset]() {
		return reflector.NewStart(nil)
	}
	probes, _ := t.client.probes.LoadOrStore(collection{objects.GoType, objects.GVK, resource}, &reflector.Probes{})
	return reflector.NewStart(probes.(*reflector.Probes))
}

// collection is what informers of one resource have in common.
type collection struct {
	goType   reflect.Type
	kind     schema.GroupVersionKind
	resource schema.GroupVersionResource
}

// withTap returns a copy of a client whose responses informers can read. The copy is of the same
// type, and differs only in the transport of its REST clients, which asks the program's transport:
//
//	program ──▶ client ─────────────▶ transport ──▶ server
//	informer ─▶ copy ──▶ tap ──────────▲
//
// The rate limiter, the warning handler, authentication, connections and the program's wrappers of
// the transport are thus the same. The client is not changed. It is returned itself if it is not
// one of client-go's, of a clientset made by client-gen, or if it has a tap.
//
// Private fields are read and set by reflection, after a check of their names and types: the copied
// structs have no functions for them.
func withTap[C any](client C, options Options) (C, clientTap) {
	if options.DisableStreaming {
		return client, clientTap{}
	}
	if codec.IsNil(client) {
		return client, clientTap{missing: "the client is nil"}
	}
	v := reflect.ValueOf(client)
	if !isKnown(v.Type()) {
		return client, clientTap{missing: fmt.Sprintf("the client is a %T, not one of client-go's or client-gen's", client)}
	}
	found := copyOf(v)
	t := clientTap{missing: found.reason, client: found}
	if copied, ok := found.copied.(C); ok {
		t.isOwn = true
		return copied, t
	}
	return client, t
}

// clientCopies are the copies of clients that are in use, by the client. The factories of one
// client share its copy, and what it has found out about the server. Only they keep it alive: a
// transport of the program may refer to the client.
var clientCopies sync.Map //nolint:gochecknoglobals // from clientKey to weak.Pointer[clientCopy]

// clientKey identifies a client. Clients of several types may have one address.
type clientKey struct {
	address weak.Pointer[byte]
	goType  reflect.Type
}

// copyOf returns the copy of a client whose type is known.
func copyOf(client reflect.Value) *clientCopy {
	key := clientKey{weak.Make((*byte)(client.UnsafePointer())), client.Type()}
	if found, ok := clientCopies.Load(key); ok {
		if inUse := found.(weak.Pointer[clientCopy]).Value(); inUse != nil && inUse.isOf(client) {
			return inUse
		}
	}
	made := &clientCopy{original: shallowCopy(client).Elem()}
	copied := made.copy(client)
	if made.replaced > 0 {
		made.copied, made.reason = copied.Interface(), ""
	}
	pointer := weak.Make(made)
	clientCopies.Store(key, pointer)
	goruntime.AddCleanup(made, func(key clientKey) { clientCopies.CompareAndDelete(key, pointer) }, key)
	return made
}

// clientCopy is the copy of a client, and what was found out about it.
type clientCopy struct {
	original reflect.Value // the struct of the client when it was copied
	copied   any           // nil if there is no copy
	replaced int           // REST clients in the copy that have a tap of their own
	reason   string        // why there is no copy; empty if there is one, or a REST client has a tap
	timeout  time.Duration // of the requests, 0 if there is none
	probes   sync.Map      // *reflector.Probes by collection
}

// isOf reports whether a client has the content that was copied: the program may have overwritten
// it.
func (c *clientCopy) isOf(client reflect.Value) bool {
	return client.Elem().Comparable() && client.Elem().Equal(c.original)
}

// isKnown reports whether clients of a type can be copied.
func isKnown(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && (hasOneClient(t) || isClientset(t.Elem()))
}

// hasOneClient reports whether a client has a REST client in its field "client".
func hasOneClient(t reflect.Type) bool {
	return t == reflect.TypeFor[*dynamic.DynamicClient]() || t == reflect.TypeFor[*metadata.Client]()
}

// copy returns a copy of a client.
func (c *clientCopy) copy(client reflect.Value) reflect.Value {
	if hasOneClient(client.Type()) {
		return c.holder(client, "client")
	}
	return c.clientset(client)
}

// isClientset reports whether a type is that of a clientset of client-gen. Its fields are the
// discovery client, embedded, and a client of each version of an API group.
func isClientset(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || t.Name() != "Clientset" {
		return false
	}
	for field := range t.Fields() {
		isDiscovery := field.Anonymous && field.Type == reflect.TypeFor[*discovery.DiscoveryClient]()
		if isGroup := !field.Anonymous && isGroupClient(field.Type); !isDiscovery && !isGroup {
			return false
		}
	}
	return t.NumField() > 0
}

// isGroupClient reports whether a type is that of a client of a version of an API group.
func isGroupClient(t reflect.Type) bool {
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct || t.Elem().NumField() != 1 {
		return false
	}
	field := t.Elem().Field(0)
	return field.Name == "restClient" && field.Type == reflect.TypeFor[rest.Interface]()
}

// clientset returns a copy of a clientset with copies of the clients of its API groups.
func (c *clientCopy) clientset(clientset reflect.Value) reflect.Value {
	copied := shallowCopy(clientset)
	for _, private := range copied.Elem().Fields() {
		field := accessible(private)
		if isGroupClient(field.Type()) && !field.IsNil() {
			field.Set(c.holder(field, "restClient"))
		}
	}
	return copied
}

// holder returns a copy of a struct with a copy of the REST client in its field.
func (c *clientCopy) holder(holder reflect.Value, name string) reflect.Value {
	field := holder.Elem().FieldByName(name)
	if !field.IsValid() {
		return holder
	}
	original, ok := reflect.TypeAssert[*rest.RESTClient](accessible(field))
	if !ok || original == nil {
		c.reason = fmt.Sprintf("the client's REST client is a %T, not client-go's", accessible(field).Interface())
		return holder
	}
	client := c.restClient(original)
	if client == nil {
		return holder
	}
	copied := shallowCopy(holder)
	accessible(copied.Elem().FieldByName(name)).Set(reflect.ValueOf(client))
	return copied
}

// restClient returns a copy of a REST client with a tap, or nil if it has one, or cannot be copied.
func (c *clientCopy) restClient(original *rest.RESTClient) *rest.RESTClient {
	next := originalTransport{original}
	if tap.In(next) {
		c.reason = ""
		return nil
	}
	from := reflect.ValueOf(original).Elem()
	var base *url.URL
	var versionedAPIPath string
	var content rest.ClientContentConfig
	provider, backoff, warnings := from.FieldByName("content"), from.FieldByName("createBackoffMgr"), from.FieldByName("warningHandler")
	known := from.NumField() == 7 && readField(from, "base", &base) && readField(from, "versionedAPIPath", &versionedAPIPath) &&
		provider.Kind() == reflect.Struct && readField(provider, "base", &content) && // the rest of it is atomic
		backoff.IsValid() && backoff.Type() == reflect.TypeFor[func() rest.BackoffManagerWithContext]() &&
		warnings.IsValid() && warnings.Type() == reflect.TypeFor[rest.WarningHandlerWithContext]()
	switch {
	case !known || base == nil:
		c.reason = "this version of client-go has a REST client that cannot be copied; call EnableStreaming on its config"
		return nil
	case !decodesUnchanged(content.Negotiator):
		c.reason = "the client's codec may set defaults or convert objects; call EnableStreaming on its config if it does not"
		return nil
	}
	client := *next.client()
	client.Transport, c.timeout = tap.Wrap(next), client.Timeout
	copied, err := rest.NewRESTClient(base, versionedAPIPath, content, original.GetRateLimiter(), &client)
	if err != nil {
		c.reason = fmt.Sprintf("the REST client cannot be copied: %v", err)
		return nil
	}
	to := reflect.ValueOf(copied).Elem()
	accessible(to.FieldByName("createBackoffMgr")).Set(accessible(backoff))
	accessible(to.FieldByName("warningHandler")).Set(accessible(warnings))
	c.replaced++
	return copied
}

// decodesUnchanged reports whether a client decodes objects as the server sent them, as those of
// client-gen and client-go do. A codec with conversion may also set defaults.
func decodesUnchanged(negotiator runtime.ClientNegotiator) bool {
	if negotiator == nil {
		return false
	}
	decoder, err := negotiator.Decoder(runtime.ContentTypeJSON, nil)
	if err != nil {
		return false
	}
	switch decoder.(type) {
	case runtime.WithoutVersionDecoder, *json.Serializer:
		return true
	}
	return false
}

// shallowCopy returns a pointer to a copy of the struct to which p points.
func shallowCopy(p reflect.Value) reflect.Value {
	copied := reflect.New(p.Type().Elem())
	copied.Elem().Set(p.Elem())
	return copied
}

// accessible returns a field of an addressable struct so that it can be read and set, although it
// is private.
func accessible(field reflect.Value) reflect.Value {
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem() //nolint:gosec // the field is addressable
}

// originalTransport passes each request on to the transport that the program's client has then.
type originalTransport struct{ rest *rest.RESTClient }

func (t originalTransport) client() *http.Client { return cmp.Or(t.rest.Client, http.DefaultClient) }

// WrappedRoundTripper returns the program's transport. It implements
// k8s.io/apimachinery/pkg/util/net.RoundTripperWrapper.
func (t originalTransport) WrappedRoundTripper() http.RoundTripper {
	return cmp.Or(t.client().Transport, http.DefaultTransport)
}

// RoundTrip implements http.RoundTripper.
func (t originalTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	return t.WrappedRoundTripper().RoundTrip(request)
}
