// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/omit"
	"github.com/kinformer/kinformer/internal/tap"
	"github.com/kinformer/kinformer/internal/wire"
)

// ErrOmittedFields reports an update that would delete omitted fields.
var ErrOmittedFields = errors.New("the update would delete fields that the informer omits")

// StoreState is what a source knows of the store to which its items go, to refuse updates with
// objects of that store. Both functions must be set before the first request.
type StoreState struct {
	// Running reports whether the store has a running informer.
	Running func() bool
	// Has reports whether the store has an object in the state of a resourceVersion, and fields of
	// it were omitted.
	Has func(key, uid, resourceVersion string) bool
}

// guard returns a guard of the objects of a source, or nil if an update with them loses nothing.
func (s streamSource) guard(store *StoreState) *tap.Guard {
	fields := s.decoded.omit
	if fields == nil || !fields.LostByUpdate() || store == nil {
		return nil
	}
	objects := s.decoded.objects
	check := updateCheck{
		store: store, fields: fields, ofStatus: fields.Under("status", "metadata"),
		decoders: codec.NewDecoders(objects, codec.Options{Packed: true}),
	}
	return &tap.Guard{Active: func() bool { return store.Running() }, Check: check.check}
}

// updateCheck checks updates against the objects that a store has.
type updateCheck struct {
	store    *StoreState
	fields   *omit.Fields
	ofStatus *omit.Fields    // those that an update of the status may write; nil if there are none
	decoders *codec.Decoders // of whole objects
}

// check returns ErrOmittedFields for an update with an object whose state the store has without
// fields, and that has none of the fields. It leaves to the server what it does not understand.
func (c updateCheck) check(request *http.Request, body []byte) error {
	item, ok := c.parse(request.Header.Get("Content-Type"), body)
	if !ok || !c.isOfType(item) {
		return nil
	}
	object, err := item.Meta()
	if err != nil || object.UID == "" || object.ResourceVersion == "" {
		return nil //nolint:nilerr // the server reports it
	}
	fields := c.fieldsWrittenTo(request.URL.Path, object.Name)
	if fields == nil || !c.store.Has(object.Key, object.UID, object.ResourceVersion) || c.hasAny(fields, &item) {
		return nil
	}
	return fmt.Errorf("%w: %s %s, at the informer's version %s, has none of %s; read the object from the server before writing it; to remove one of them on purpose, send a patch with it as null",
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
		item.APIVersion, item.Kind = envelope.APIVersion, envelope.Kind
		return item, err == nil
	default:
		return wire.Item{}, false
	}
}

// isOfType reports whether the object of an update is of the type whose fields are omitted, and not
// of another version of the API, or of a subresource with its own type. The Go types of the API are
// named like their kinds, in packages named like their versions. All types have the same metadata.
func (c updateCheck) isOfType(item wire.Item) bool {
	objects, version := c.decoders.Objects(), path.Base(item.APIVersion)
	switch {
	case objects.IsMetadata():
		return item.Kind != "Scale"
	case !objects.GVK.Empty():
		return item.Kind == objects.GVK.Kind && version == objects.GVK.Version
	case objects.IsUnstructured():
		return item.Kind != "Scale"
	}
	of := path.Base(objects.GoType.Elem().PkgPath())
	return item.Kind == objects.GoType.Elem().Name() && (of == version || !apiVersion.MatchString(of))
}

// apiVersion matches the name of a version.
var apiVersion = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// fieldsWrittenTo returns the omitted fields that an update at a URL path may write: those of the
// object's status and metadata, or of all of the object, as subresources such as finalize write it.
func (c updateCheck) fieldsWrittenTo(urlPath, name string) *omit.Fields {
	if path.Base(urlPath) == "status" && path.Base(path.Dir(urlPath)) == name {
		return c.ofStatus
	}
	return c.fields
}

// hasAny reports whether an object has any of the fields, or cannot be decoded.
func (c updateCheck) hasAny(fields *omit.Fields, item *wire.Item) bool {
	obj, err := c.decoders.ForList().For(item).Decode(item.Raw)
	return err != nil || fields.HasAny(obj)
}
