// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// ServeError sends an error as API servers do: a Retry-After is a header. An error that is not of
// the API breaks the connection.
func ServeError(w http.ResponseWriter, err error) {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		panic(http.ErrAbortHandler)
	}
	status := api.Status()
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	w.WriteHeader(int(status.Code))
	_, _ = w.Write(Formats["JSON"].Encode(WithType(&status)))
}

// ServeEvents sends the events of a watch until it or ctx ends, or an event cannot be sent.
func ServeEvents(ctx context.Context, stream watch.Interface, send func(watch.Event) error) {
	for {
		select {
		case event, ok := <-stream.ResultChan():
			if !ok || send(event) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// WithType sets the TypeMeta of an object or a list, and returns it.
func WithType(obj runtime.Object) runtime.Object {
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		panic(err)
	}
	kind := kinds[0]
	if _, isStatus := obj.(*metav1.Status); isStatus {
		kind = metav1.Unversioned.WithKind("Status")
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return obj
}

// PipeListener is a net.Listener of pipes, which a server in a synctest bubble can use.
type PipeListener struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewPipeListener returns a listener without connections.
func NewPipeListener() *PipeListener {
	return &PipeListener{dialed: make(chan net.Conn, 100), closed: make(chan struct{})}
}

// Enqueue makes Accept return the server's end of a pipe.
func (l *PipeListener) Enqueue(c net.Conn) { l.dialed <- c }

// Accept implements net.Listener.
func (l *PipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialed:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *PipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *PipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "server"} }
