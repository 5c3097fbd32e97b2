package reader

import (
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/internal/wire"
)

// Client makes the requests, see cluster.Client.
type Client = *cluster.Client

// page is the answer to one request.
type page struct {
	wire.ListHeader
	format wire.Format
	items  int
	bytes  int64 // of the body
}

// readPage requests a page of at most limit objects and calls each with every one. It stops at the
// first object above the limit, as a server sends them that does not read in pages.
func readPage(client Client, path string, limit int, token string, each func(*wire.Item) error) (page, error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if token != "" {
		query.Set("continue", token)
	}
	response, err := client.Get(path, query, cluster.Accept)
	if err != nil {
		return page{}, err
	}
	defer response.Body.Close()
	format, ok := wire.FormatOf(response.Header.Get("Content-Type"))
	if !ok {
		return page{}, fmt.Errorf("unexpected content type %s", wire.Quote(response.Header.Get("Content-Type")))
	}
	body := &countingReader{Reader: response.Body}
	p := page{format: format}
	p.ListHeader, err = wire.List(body, format, wire.Options{}, func(item *wire.Item) error {
		if p.items == limit {
			return ErrNotPaged
		}
		p.items++
		return each(item)
	})
	p.bytes = body.bytes
	return p, err
}

// ErrNotPaged is the error for a server that ignores the limit of a list.
var ErrNotPaged = fmt.Errorf("the server ignores the limit of a list, so it cannot be read in pages")

// countingReader counts the bytes that were read.
type countingReader struct {
	io.Reader
	bytes int64
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.bytes += int64(n)
	return n, err
}
