// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// ServeHTTP answers a request from the model.
func (n *network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b := &body{ResponseWriter: w, request: r, model: n.model, format: formatOf(r, n.format)}
	b.epoch, b.heals = n.model.phase()
	ctx := context.WithValue(r.Context(), faultsKey{}, &b.faults)
	options := optionsOf(r)
	if options.Watch {
		options.Watch = false
		b.serveWatch(ctx, options)
		return
	}
	list, err := n.model.List(ctx, options)
	if err != nil {
		cachetest.ServeError(b.ResponseWriter, err)
		return
	}
	content := b.encode(list)
	if n.compress && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		content = compressed(content)
	} else {
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	}
	if b.begin(b.format.ListType) {
		_, _ = b.Write(content)
	}
}

// faultsKey is the key of a context whose value is a *[]fault, which receives the faults of the
// request.
type faultsKey struct{}

// optionsOf returns the options of a request.
func optionsOf(r *http.Request) (options metav1.ListOptions) {
	if err := scheme.ParameterCodec.DecodeParameters(r.URL.Query(), corev1.SchemeGroupVersion, &options); err != nil {
		panic(err)
	}
	return options
}

// formatOf returns the format of the answer to a request: the preferred one if the client accepts
// it.
func formatOf(r *http.Request, preferred cachetest.Format) cachetest.Format {
	if strings.Contains(r.Header.Get("Accept"), preferred.ListType) {
		return preferred
	}
	return cachetest.Formats["JSON"]
}

func compressed(content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(content)
	_ = w.Close()
	return b.Bytes()
}

// serveWatch sends the events of a watch.
func (b *body) serveWatch(ctx context.Context, options metav1.ListOptions) {
	stream, err := b.model.Watch(ctx, options)
	if err != nil {
		cachetest.ServeError(b.ResponseWriter, err)
		return
	}
	defer stream.Stop()
	if !b.begin(b.format.WatchType) {
		return
	}
	cachetest.ServeEvents(ctx, stream, func(event watch.Event) error {
		_, err := b.Write(b.frame(event))
		return err
	})
}

func (b *body) frame(event watch.Event) []byte {
	if event.Object == nil {
		return b.format.Frame(event.Type, nil)
	}
	return b.format.Frame(event.Type, b.encode(event.Object))
}

// encode returns the bytes of an object or a list. Those of the objects that cannot be decoded are
// corrupt.
func (b *body) encode(obj runtime.Object) []byte {
	return corrupt(b.format.Encode(cachetest.WithType(obj)), "nodeName", "\x52", corruptNode)
}

// corrupt makes the value of a field one that cannot be decoded: an array in JSON, and in protobuf,
// where the field begins with tag, a string that is longer than its message.
func corrupt(content []byte, field, tag, value string) []byte {
	content = bytes.ReplaceAll(content, []byte(`"`+field+`":"`+value+`"`), []byte(`"`+field+`":["`+value+`"]`))
	length := string(rune(len(value)))
	return bytes.ReplaceAll(content, []byte(tag+length+value), []byte(tag+"\x7f"+value))
}

// checkStreaming checks that the last answer was streamed if the informer reads over HTTP, unless
// it has failed. A probe that fails changes no other part of the status.
func (x *execution) checkStreaming() {
	s := x.subject.Status()
	if x.program.Options.Wire == "" || x.program.Options.Reference || s.Err != nil || s.Phase != cache.PhaseWatching {
		return
	}
	x.server.mu.Lock()
	last := x.server.requests[len(x.server.requests)-1].target
	x.server.mu.Unlock()
	x.checked("streaming")
	if !s.Requests.Streaming && last != targetProbe {
		x.fail("streaming", "status %+v", s)
	}
}
