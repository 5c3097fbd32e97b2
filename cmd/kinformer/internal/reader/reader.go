package reader

import (
	"bytes"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/collection"
	"github.com/kinformer/kinformer/internal/wire"
)

// Received counts what was read.
type Received struct {
	Objects int64
	Bytes   int64
	Pages   int
}

// Reader reads resources, one at a time.
type Reader struct {
	Client Client
	Limits Limits
	// OnPage, if not nil, is called after each page.
	OnPage func(Received)

	total Received // of the resources that were read
}

// Read reads all objects of a resource, in the state at the time of the first page. It makes at
// most a tenth more requests than estimated.
func (r *Reader) Read(e Estimate) (*collection.Collection, error) {
	c := &collection.Collection{Resource: e.GroupVersionResource, Kind: e.Kind, Namespaced: e.Namespaced}
	var p Received
	defer func() { r.total.add(p) }()
	for token := ""; ; {
		read, err := r.page(e, token, c)
		p.add(Received{Objects: int64(read.items), Bytes: read.bytes, Pages: 1})
		if err != nil {
			return nil, r.explain(e, p, err)
		}
		c.WireBytes = p.Bytes
		if r.OnPage != nil {
			r.OnPage(p)
		}
		if token = read.Meta.Continue; token == "" {
			c.ListKind, c.ResourceVersion = read.Kind, read.Meta.ResourceVersion
			return c, nil
		}
		if bound := e.Requests + e.Requests/10 + 1; p.Pages >= bound && !e.Unknown {
			return nil, fmt.Errorf("read %s: more than %d pages, %d were expected: the resource grows", e.Name(), p.Pages, e.Requests)
		}
		if err := r.check(p); err != nil {
			return nil, fmt.Errorf("read %s: %w", e.Name(), err)
		}
	}
}

// page reads a page into a collection.
func (r *Reader) page(e Estimate, token string, c *collection.Collection) (page, error) {
	keep := keeperOf(e.GroupVersionResource.GroupResource())
	p, err := readPage(r.Client, e.Path(e.Namespace), PageSize, token, func(item *wire.Item) error {
		raw, err := keep(item)
		c.Items = append(c.Items, raw)
		return err
	})
	if err == nil && token != "" && c.ContentType != contentType(p.format) {
		err = errFormats
	}
	c.ContentType = contentType(p.format)
	return p, err
}

var errFormats = errors.New("the server sent pages in different formats")

func contentType(format wire.Format) string {
	if format == wire.Protobuf {
		return runtime.ContentTypeProtobuf
	}
	return runtime.ContentTypeJSON
}

// keeper returns the bytes of an item to keep, which are a copy.
type keeper func(*wire.Item) ([]byte, error)

func keepItem(item *wire.Item) ([]byte, error) { return bytes.Clone(item.Raw), nil }

// check returns an error if what was read exceeds a limit.
func (r *Reader) check(p Received) error {
	all := r.total
	all.add(p)
	const large = "--large reads it nevertheless"
	switch l := r.Limits; {
	case l.Objects > 0 && all.Objects >= l.Objects:
		return &LimitError{fmt.Sprintf("%d objects", l.Objects), large}
	case l.Bytes > 0 && all.Bytes >= l.Bytes:
		return &LimitError{fmt.Sprintf("%d bytes", l.Bytes), large}
	case l.Memory > 0 && l.MemoryFor(p.Bytes) >= l.Memory:
		return &LimitError{fmt.Sprintf("%d bytes of memory", l.Memory), "half of this machine's"}
	}
	return nil
}

// explain adds to an error what was read before it.
func (r *Reader) explain(e Estimate, p Received, err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return fmt.Errorf("read %s: the list expired after %d objects, because reading took longer than the server keeps it, five minutes by default; a higher --qps may help: %w",
			e.Name(), p.Objects, err)
	}
	return fmt.Errorf("read %s: %w", e.Name(), err)
}

func (p *Received) add(other Received) {
	p.Objects += other.Objects
	p.Bytes += other.Bytes
	p.Pages += other.Pages
}
