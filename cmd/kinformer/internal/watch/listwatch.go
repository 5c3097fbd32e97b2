// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
)

// tables lists and watches a resource as Tables.
type tables struct {
	client  rest.Interface
	path    string
	columns columns
}

func newTables(config *rest.Config, path string) (*tables, error) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/api", &schema.GroupVersion{Version: "v1"} // unused: requests have a path
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	return &tables{client: client, path: path}, nil
}

// listWatch returns a ListWatch of rows, in a namespace or in all of them.
func (t *tables) listWatch(namespace, labels, fields string) *cache.ListWatch {
	request := func(options metav1.ListOptions) *rest.Request {
		options.LabelSelector, options.FieldSelector = labels, fields
		return t.client.Get().AbsPath(t.path).VersionedParams(&options, metav1.ParameterCodec).
			Param("includeObject", string(metav1.IncludeMetadata)).SetHeader("Accept", accept).MaxRetries(0)
	}
	lw := &cache.ListWatch{
		ListFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return t.list(ctx, request(options))
		},
		WatchFunc: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			return t.watch(ctx, request(options))
		},
	}
	return lw.InNamespace(namespace)
}

func (t *tables) list(ctx context.Context, request *rest.Request) (*rowList, error) {
	result := request.Do(ctx)
	if err := result.Error(); err != nil { // Raw would not decode it
		return nil, err
	}
	body, err := result.Raw()
	if err != nil {
		return nil, err
	}
	table, err := decodeTable(body)
	if err != nil {
		return nil, err
	}
	t.columns.set(table.ColumnDefinitions)
	rows, err := rowsOf(table)
	return &rowList{ListMeta: table.ListMeta, Items: rows}, err
}

func (t *tables) watch(ctx context.Context, request *rest.Request) (watch.Interface, error) {
	body, err := request.Stream(ctx)
	if err != nil {
		return nil, err
	}
	reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")
	return watch.NewStreamWatcher(&decoder{body: body, events: json.NewDecoder(body), columns: &t.columns}, reporter), nil
}

// decoder decodes the events of a watch.
type decoder struct {
	body    io.Closer
	events  *json.Decoder
	columns *columns
}

// Decode implements watch.Decoder.
func (d *decoder) Decode() (watch.EventType, runtime.Object, error) {
	var event metav1.WatchEvent
	if err := d.events.Decode(&event); err != nil {
		return "", nil, err
	}
	object, err := d.object(&event)
	return watch.EventType(event.Type), object, err
}

// Close implements watch.Decoder.
func (d *decoder) Close() { _ = d.body.Close() }

// object returns the row of an event, or its error.
func (d *decoder) object(event *metav1.WatchEvent) (runtime.Object, error) {
	if event.Type == string(watch.Error) {
		status := &metav1.Status{}
		return status, json.Unmarshal(event.Object.Raw, status)
	}
	table, err := decodeTable(event.Object.Raw)
	if err != nil {
		return nil, err
	}
	d.columns.set(table.ColumnDefinitions)
	rows, err := rowsOf(table)
	switch {
	case err != nil:
		return nil, err
	case len(rows) == 1:
		return &rows[0], nil
	case event.Type == string(watch.Bookmark) && len(rows) == 0:
		bookmark := &row{}
		bookmark.ResourceVersion = table.ResourceVersion
		return bookmark, nil
	}
	return nil, fmt.Errorf("%d rows in an event, want 1", len(rows))
}
