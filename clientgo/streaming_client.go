// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"runtime"
	"sync"
	"unsafe"
	"weak"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
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
// of a resource share what the server answers, whatever factories of the client have made them.
func (t clientTap) start(objects codec.ObjectType, resource schema.GroupVersionResource) *reflector.Start {
	if t.client == nil {
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
	found := copyOf(reflect.ValueOf(client))
	t := clientTap{missing: found.reason, client: found}
	if copied, ok := found.client.(C); ok {
		t.isOwn = true
		return copied, t
	}
	if t.missing == "" && !found.hasTap {
		t.missing = fmt.Sprintf("the client is a %T, not one of client-go's or client-gen's", client)
	}
	return client, t
}

// clientCopies are the copies of clients that are in use, by the client. The factories of one
// client share its copy, and what it has found out about the server.
var clientCopies sync.Map //nolint:gochecknoglobals // from weak.Pointer[byte] to *clientCopy

// copyOf returns what is known of a client, which is not nil.
func copyOf(client reflect.Value) *clientCopy {
	if client.Kind() != reflect.Pointer || !isKnown(client.Type()) {
		return &clientCopy{}
	}
	address := (*byte)(client.UnsafePointer())
	key := weak.Make(address)
	if found, ok := clientCopies.Load(key); ok {
		return found.(*clientCopy)
	}
	made := &clientCopy{}
	if copied := made.copy(client); made.replaced > 0 {
		made.client = copied.Interface()
	}
	found, loaded := clientCopies.LoadOrStore(key, made)
	if !loaded {
		runtime.AddCleanup(address, func(key weak.Pointer[byte]) { clientCopies.Delete(key) }, key)
	}
	return found.(*clientCopy)
}

// clientCopy is the copy of a client, and what was found out about it. It does not refer to the
// client itself.
type clientCopy struct {
	client   any      // nil if there is no copy
	replaced int      // REST clients in the copy that have a tap of their own
	hasTap   bool     // a REST client of the client has one
	reason   string   // why a REST client could not be copied
	probes   sync.Map // *reflector.Probes by collection
}

// isKnown reports whether clients of a type can be copied.
func isKnown(t reflect.Type) bool { return hasOneClient(t) || isClientset(t.Elem()) }

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
	for i := range t.NumField() {
		field := t.Field(i)
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
	for i := range copied.Elem().NumField() {
		field := accessible(copied.Elem().Field(i))
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
	original, ok := accessible(field).Interface().(*rest.RESTClient)
	if !ok || original == nil {
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
		c.hasTap = true
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
	if !known || base == nil {
		c.reason = "this version of client-go has a REST client that cannot be copied; call EnableStreaming on its config"
		return nil
	}
	client := *next.client()
	client.Transport = tap.Wrap(next)
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

// originalTransport passes requests on to the transport that a program's client has at that time.
type originalTransport struct{ rest *rest.RESTClient }

func (t originalTransport) client() *http.Client { return cmp.Or(t.rest.Client, http.DefaultClient) }

// WrappedRoundTripper returns the program's transport. It implements
// k8s.io/apimachinery/pkg/util/net.RoundTripperWrapper.
func (t originalTransport) WrappedRoundTripper() http.RoundTripper {
	return cmp.Or(t.client().Transport, http.DefaultTransport)
}

// RoundTrip implements http.RoundTripper. The Timeout of an http.Client includes the time in which
// the body is read. That of a list is read at once then, as by client-go, so that the time does not
// include that in which objects are decoded and stored.
func (t originalTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.WrappedRoundTripper().RoundTrip(request)
	if err == nil && response.Body != nil && t.client().Timeout > 0 && !request.URL.Query().Has("watch") {
		response.Body = &wholeBody{ReadCloser: response.Body}
	}
	return response, err
}

// wholeBody is a body that is read to its end, or to an error, by the first Read.
type wholeBody struct {
	io.ReadCloser

	content *bytes.Reader // nil before the first Read
	err     error
}

func (b *wholeBody) Read(p []byte) (int, error) {
	if b.content == nil {
		var content []byte
		content, b.err = io.ReadAll(b.ReadCloser)
		b.content = bytes.NewReader(content)
	}
	n, err := b.content.Read(p)
	if err == io.EOF && b.err != nil { //nolint:errorlint // returned as it is by bytes.Reader
		err = b.err
	}
	return n, err
}
