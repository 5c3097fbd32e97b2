// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/internal/wire"
)

// Options are the options of a Client.
type Options struct {
	// QPS is the maximum rate of requests, retries included. There are no bursts.
	QPS float64
	// Timeout bounds each request, its body included, but not the waits before it. Zero means two
	// minutes, twice the limit of kube-apiserver itself.
	Timeout time.Duration
	// OnWait, if not nil, is called before the client waits because the server asked for it.
	OnWait func(wait time.Duration, status int)
}

const defaultTimeout = 2 * time.Minute

// Client makes paced GET requests, one at a time. It is safe for concurrent use, but a request
// waits until the body of the one before is closed.
type Client struct {
	config *rest.Config
	base   *url.URL
	http   *http.Client
}

// NewClient returns a client for a server. All of its requests end with ctx.
func NewClient(ctx context.Context, config *rest.Config, options Options) (*Client, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	if options.Timeout <= 0 {
		options.Timeout = defaultTimeout
	}
	return &Client{config: config, base: base, http: &http.Client{Transport: newPacedTransport(ctx, transport, options)}}, nil
}

// Host returns the address of the server.
func (c *Client) Host() string { return c.base.Redacted() }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Get sends a GET request for a path of the API. The caller must close the response's body. An
// answer other than 200 is an error, the server's own if there is one.
func (c *Client) Get(path string, query url.Values, accept string) (*http.Response, error) {
	address := c.base.JoinPath(path)
	address.RawQuery = query.Encode()
	request, err := http.NewRequest(http.MethodGet, address.String(), http.NoBody) //nolint:noctx // the transport adds it
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, rootCause(err)
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, statusError(response, path)
	}
	return response, nil
}

// statusError returns the error of an answer.
func statusError(response *http.Response, path string) error {
	format, _ := wire.FormatOf(response.Header.Get("Content-Type"))
	body := io.LimitReader(response.Body, maxStatus)
	_, err := wire.List(body, format, wire.Options{}, func(*wire.Item) error { return errNoStatus })
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return status
	}
	resource := schema.GroupResource{Resource: path}
	return apierrors.NewGenericServerResponse(response.StatusCode, http.MethodGet, resource, "", "", 0, true)
}

// maxStatus is how much of an answer that is an error is read.
const maxStatus = 1 << 20

var errNoStatus = errors.New("not a Status")

// rootCause returns the reason for a failed request, without the text about the request.
func rootCause(err error) error {
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Err
	}
	return err
}
