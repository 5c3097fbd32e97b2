// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/internal/wire"
)

// page is a page of a list.
type page struct {
	wire.ListHeader
	format wire.Format
	items  int
}

// errNotPaged is the error for a server that ignores the limit of a list.
var errNotPaged = errors.New("the server ignores the limit of a list, so it cannot be read in pages")

// readPage requests a page of at most limit objects, calls each with every one, and adds the bytes
// of the body to received as they arrive. It stops at the first object above the limit.
func readPage(client *cluster.Client, path string, limit int, token, accept string, received *int64, each func(*wire.Item) error) (page, error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if token != "" {
		query.Set("continue", token)
	}
	response, err := client.Get(path, query, accept)
	if err != nil {
		return page{}, err
	}
	defer response.Body.Close()
	format, ok := wire.FormatOf(response.Header.Get("Content-Type"))
	if !ok {
		return page{}, invalidAnswerError{fmt.Errorf("unexpected content type %s", wire.Quote(response.Header.Get("Content-Type")))}
	}
	body := &counter{Reader: response.Body, bytes: received}
	p, err := split(body, format, limit, each)
	if err != nil && body.err == nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = invalidAnswerError{err}
	}
	return p, err
}

// invalidAnswerError is an error of an answer that was received, as opposed to one of the
// connection.
type invalidAnswerError struct{ error }

func (e invalidAnswerError) Unwrap() error { return e.error }

// split calls each with every object of a page. It overwrites its buffers, as there may be Secrets
// in them that each has not been called with.
func split(body io.Reader, format wire.Format, limit int, each func(*wire.Item) error) (page, error) {
	p := page{format: format}
	var err error
	p.ListHeader, err = wire.List(body, format, wire.Options{Erase: true}, func(item *wire.Item) error {
		if p.items == limit {
			return errNotPaged
		}
		p.items++
		return each(item)
	})
	return p, err
}

// counter counts the bytes that are read, and keeps the error of a read that failed.
type counter struct {
	io.Reader
	bytes *int64
	err   error
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	*c.bytes += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}
