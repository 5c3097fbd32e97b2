// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/collection"
	"github.com/kinformer/kinformer/internal/wire"
)

// Received counts what was read.
type Received struct {
	Objects int64
	Bytes   int64 // of the bodies, decompressed
	Pages   int
}

// Reader reads resources, one at a time.
type Reader struct {
	Client *cluster.Client
	Limits Limits
	// OnPage, if not nil, is called after each page.
	OnPage func(Received)

	total Received // of all resources that were read
}

// Read reads all objects of a resource, in the state at the time of the first page. It makes at
// most a tenth more requests than estimated, and one. If it fails, it is not repeated.
func (r *Reader) Read(e Estimate) (*collection.Collection, error) {
	read := &reading{Reader: r, estimate: e, collection: &collection.Collection{
		Resource: e.GroupVersionResource, Kind: e.Kind, Namespaced: e.Namespaced, ContentType: e.ContentType,
	}}
	err := read.pages()
	r.total.Objects += read.received.Objects
	r.total.Bytes += read.received.Bytes
	r.total.Pages += read.received.Pages
	if err != nil {
		return nil, fmt.Errorf("read %s, after %d objects: %w", e.Name(), read.received.Objects, explain(err))
	}
	return read.collection, nil
}

// reading is the state of one resource's read.
type reading struct {
	*Reader
	estimate   Estimate
	collection *collection.Collection
	received   Received
}

// pages reads one page after the other.
func (r *reading) pages() error {
	for token := ""; ; {
		if err := r.checkPages(); err != nil {
			return err
		}
		p, err := r.page(token)
		if err != nil {
			return err
		}
		r.collection.WireBytes = r.received.Bytes
		if r.OnPage != nil {
			r.OnPage(r.received)
		}
		if token = p.Meta.Continue; token == "" {
			r.collection.ListKind, r.collection.ResourceVersion = p.Kind, p.Meta.ResourceVersion
			return nil
		}
		if err := r.checkProjection(); err != nil {
			return err
		}
	}
}

var errFormats = errors.New("the server sent pages in different formats")

// page reads a page into the collection.
func (r *reading) page(token string) (page, error) {
	keep := keeperOf(r.estimate.GroupResource())
	r.received.Pages++
	p, err := readPage(r.Client, r.estimate.Path(r.estimate.Namespace), pageSize, token, r.estimate.Accept, &r.received.Bytes, func(item *wire.Item) error {
		raw, err := keep(item)
		if err != nil {
			return err
		}
		r.collection.Items = append(r.collection.Items, raw)
		r.received.Objects++
		return r.Limits.check(r.total, r.received, r.estimate.ContentType)
	})
	if err == nil && contentType(p.format) != r.estimate.ContentType {
		err = errFormats
	}
	return p, err
}

func contentType(format wire.Format) string {
	if format == wire.Protobuf {
		return runtime.ContentTypeProtobuf
	}
	return runtime.ContentTypeJSON
}

// checkPages returns an error before a request that the estimate does not allow for.
func (r *reading) checkPages() error {
	expected := r.estimate.Requests
	if r.estimate.Unknown || r.received.Pages <= expected+expected/10 {
		return nil
	}
	return fmt.Errorf("%d pages were expected, and there are more: the resource grows", expected)
}

// checkProjection returns an error if all objects would exceed a limit, provided that the others
// are as large as those received. The estimate knows one object only.
func (r *reading) checkProjection() error {
	all := r.received
	if all.Objects > 0 && all.Objects < r.estimate.Objects {
		all.Bytes = int64(float64(all.Bytes) / float64(all.Objects) * float64(r.estimate.Objects))
		all.Objects = r.estimate.Objects
	}
	return r.Limits.check(r.total, all, r.estimate.ContentType)
}

// explain explains that a list has expired.
func explain(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return fmt.Errorf("the list expired: the server keeps a list's state for a few minutes only, so it has to be read faster, with a higher --qps: %w", err)
	}
	return err
}
