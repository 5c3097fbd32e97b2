package source

import (
	"bytes"
	"fmt"
	"net/http"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/omit"
	"github.com/kinformer/kinformer/internal/tap"
	"github.com/kinformer/kinformer/internal/wire"
)

// ErrOmittedFields reports an update that would delete omitted fields. Package cache declares it
// with the same text.
const ErrOmittedFields = feed.Error("the update would delete fields that the informer omits")

// Served is what a source knows of the store to which its items go, to refuse updates with objects
// of that store. Both functions must be set before the first request.
type Served struct {
	// Running reports whether the store has a running informer.
	Running func() bool
	// HasState reports whether the store has an object in the state of a resourceVersion.
	HasState func(key, uid, resourceVersion string) bool
}

// guard returns a guard of the objects of a source, or nil if an update with them loses nothing.
func (s streamSource) guard(served *Served) *tap.Guard {
	fields := s.decoded.omit
	if fields == nil || !fields.NeedsReadOnly() || served == nil {
		return nil
	}
	check := updateCheck{
		fields: fields, status: fields.Below("status"), served: served,
		decoders: codec.NewDecoders(s.decoded.objects, codec.Options{Packed: true}),
	}
	return &tap.Guard{Active: func() bool { return served.Running() }, Check: check.check}
}

// updateCheck checks updates against the objects that a store has.
type updateCheck struct {
	fields   *omit.Fields
	status   *omit.Fields // those that an update of the status subresource writes; nil if there are none
	served   *Served
	decoders *codec.Decoders // of whole objects
}

// check returns ErrOmittedFields for an update with an object whose state the store has, and that
// has none of the fields. It leaves to the server what it does not understand.
func (c updateCheck) check(request *http.Request, body []byte) error {
	item, ok := c.parse(request.Header.Get("Content-Type"), body)
	if !ok {
		return nil
	}
	object, err := item.Meta()
	if err != nil || object.UID == "" || object.ResourceVersion == "" {
		return nil //nolint:nilerr // the server reports it
	}
	fields := c.written(request.URL.Path, object.Name)
	if fields == nil || !c.served.HasState(object.Key, object.UID, object.ResourceVersion) || c.hasAny(fields, &item) {
		return nil
	}
	return fmt.Errorf("%w: %s %s has the version that the informer has, %s, and none of %s; read the object from the server before writing it",
		ErrOmittedFields, item.Kind, wire.Quote(object.Key), object.ResourceVersion, strings.Join(fields.Paths(), ", "))
}

// parse returns the object in the body of an update.
func (c updateCheck) parse(contentType string, body []byte) (wire.Item, bool) {
	switch format, _ := wire.FormatOf(contentType); format {
	case wire.JSON:
		item, err := wire.Parse(bytes.TrimSpace(body), format)
		return item, err == nil
	case wire.Protobuf:
		var envelope runtime.Unknown
		content, ok := bytes.CutPrefix(body, []byte("k8s\x00"))
		if !ok || !c.decoders.Objects().IsGenerated() || envelope.Unmarshal(content) != nil {
			return wire.Item{}, false
		}
		item, err := wire.Parse(envelope.Raw, format)
		item.Kind = envelope.Kind
		return item, err == nil
	}
	return wire.Item{}, false
}

// written returns the fields that an update at a URL path writes: of the object itself or its
// status. It returns nil for other subresources, such as scale, whose updates have another object.
func (c updateCheck) written(urlPath, name string) *omit.Fields {
	switch {
	case path.Base(urlPath) == name:
		return c.fields
	case path.Base(urlPath) == "status" && path.Base(path.Dir(urlPath)) == name:
		return c.status
	}
	return nil
}

// hasAny reports whether an object has any of the fields, or cannot be decoded.
func (c updateCheck) hasAny(fields *omit.Fields, item *wire.Item) bool {
	obj, err := c.decoders.ForList().For(item).Decode(item.Raw)
	return err != nil || fields.In(obj)
}
