// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinformer/kinformer/internal/layout"
)

// Item is one undecoded object of a body. It is valid until the callback that received it returns.
type Item struct {
	Raw    []byte // the object: a bare protobuf message, or JSON from '{' to '}'
	Format Format
	Index  int   // position among the body's objects, from 0
	Offset int64 // where Raw begins in the body

	// APIVersion and Kind are those of the object. Items of built-in lists do not carry them; such
	// an item gets those of its list, unless the list states them after its items, as some lists in
	// JSON do.
	APIVersion string
	Kind       string

	// TooLarge is an *Error with ErrTooLarge if the object exceeds Options.MaxItemSize. Such an
	// item supports Meta, but Raw is incomplete and cannot be decoded.
	TooLarge error
	// Malformed is an *Error if there is no object of the body's kind, such as null in its place,
	// or if it is of an event without a known type. Meta returns it, too.
	Malformed error

	members members       // in JSON: the positions of the members that the methods read
	text    []byte        // in JSON: the text that members refers to, Raw or the event that contains it
	body    string        // the name of the item's body, for errors
	block   *block        // of the identities of a list's items; nil if the identity has its own memory
	located layout.Object // of an item that Located returned, until it is parsed; zero otherwise
}

// ObjectMeta identifies an object and its version. Its strings share one allocation, and those of
// the items of a list one with other items.
type ObjectMeta struct {
	Key             string // "namespace/name", or "name" if cluster-scoped; empty without a name
	Namespace       string
	Name            string
	UID             string
	ResourceVersion string
}

// Parse returns an item for the bytes of one object, in the form of Item.Raw. The item refers to
// raw. JSON is checked in full.
func Parse(raw []byte, format Format) (Item, error) {
	item := Item{Raw: raw, Format: format, body: format.bodyName(bodyObject)}
	switch format {
	case Protobuf:
		return item, nil
	case JSON:
		return item, item.parseJSON()
	}
	return item, item.errorAt(0, errFormat(format))
}

// Located is Parse for bytes whose layout is known: it does not parse them, and JSON is not
// checked. It returns false if the bytes cannot have the layout.
func Located(raw []byte, format Format, at layout.Object) (item Item, ok bool) {
	if !at.Fits(raw) {
		return Item{}, false
	}
	item = Item{Raw: raw, Format: format, body: format.bodyName(bodyObject), located: at}
	return item, format == Protobuf || format == JSON && item.locateJSON()
}

// complete parses an item that Located returned.
func (i *Item) complete() error {
	if i.located.Length == 0 {
		return nil
	}
	parsed, err := Parse(i.Raw, i.Format)
	if err == nil {
		*i = parsed
	}
	return err
}

// Meta returns the object's identity. Fields that the object lacks are empty. With an error, those
// that cannot be read are empty, too.
func (i *Item) Meta() (ObjectMeta, error) {
	meta, _, err := i.Identify()
	return meta, err
}

// Identify returns the object's identity, as Meta does, and the layout of Raw. The layout is zero
// if the object has a part of it twice.
func (i *Item) Identify() (ObjectMeta, layout.Object, error) {
	if err := i.complete(); err != nil {
		return ObjectMeta{}, layout.Object{}, err
	}
	var fields identity
	var at layout.Object
	var err error
	if i.Format == Protobuf {
		at, err = fields.readMessage(i.Raw)
	} else {
		at = i.layoutOfJSON()
		fields, err = i.members.identity(i.text)
	}
	if err != nil {
		err = i.errorAt(i.Offset, err)
	}
	if err = cmp.Or(i.Malformed, err); err != nil {
		return fields.strings(i.block), layout.Object{}, err
	}
	if i.TooLarge != nil {
		at = layout.Object{}
	}
	return fields.strings(i.block), at, nil
}

// drop makes i an item without an object. malformed is an *Error.
func (i *Item) drop(malformed error) {
	i.Raw, i.text, i.members = nil, nil, members{}
	i.APIVersion, i.Kind, i.Malformed = "", "", malformed
}

// HasDuplicates reports whether apiVersion, kind, metadata, or a member of metadata that this
// package reads occurs more than once in JSON. The item resolves them as for a Go type, which keeps
// the last value that is not null and merges objects; in a map the last value wins.
func (i *Item) HasDuplicates() bool { return i.members.duplicate }

// AppendWithoutKind appends the object of an item that Parse or Located has returned for JSON, with
// apiVersion and kind empty.
func (i *Item) AppendWithoutKind(to []byte) []byte {
	begin := len(to)
	to = append(to, i.text...)
	for _, which := range []member{memberAPIVersion, memberKind} {
		if at := i.members.at[which]; at != (span{}) {
			value := at.of(to[begin:])
			for j := range value {
				value[j] = ' '
			}
			value[0], value[1] = '"', '"'
		}
	}
	return to
}

// ReadLabels returns the labels that are at layout.Object's Labels, or nil if there are none.
func ReadLabels(part []byte) (labels map[string]string, err error) {
	switch {
	case len(part) == 0:
		return nil, nil
	case part[0] == '{': // which begins no field of metadata
		if err = json.Unmarshal(part, &labels); err != nil {
			return nil, inField(memberPaths[memberLabels], err)
		}
		return labels, nil
	}
	return readMap(part, fieldLabels, "labels", nil)
}

// annotations returns the object's annotations, or nil if it has none.
func (i *Item) annotations() (annotations map[string]string, err error) {
	if err := i.complete(); err != nil {
		return nil, err
	}
	if i.Format == Protobuf {
		annotations, err = messageAnnotations(i.Raw)
	} else {
		annotations, err = i.members.annotations(i.text)
	}
	if err != nil {
		return nil, i.errorAt(i.Offset, err)
	}
	return annotations, nil
}

// errorAt returns err as an *Error of the item.
func (i *Item) errorAt(offset int64, err error) error {
	index := i.Index
	if !strings.HasSuffix(i.body, "list") && !strings.HasSuffix(i.body, "watch") {
		index = -1
	}
	return newError(i.body, offset, index, err)
}

// identity holds the fields of ObjectMeta as parts of the buffer.
type identity struct {
	namespace, name, uid, resourceVersion []byte
}

// block is an arena for the identities of items, of which most are read once and then dropped.
type block struct{ strings.Builder }

// The sizes of blocks, in bytes. The first one of a list is small: most lists are short.
const (
	firstBlock = 128
	maxBlock   = 16 << 10
)

// builder returns a Builder with room for n bytes. Strings returned earlier stay valid.
func (k *block) builder(n int) *strings.Builder {
	if k.Cap()-k.Len() < n {
		size := max(n, firstBlock, min(2*k.Cap(), maxBlock))
		k.Reset()
		k.Grow(size)
	}
	return &k.Builder
}

// strings copies the identity out of the buffer, into a block if it is not nil. It concatenates
// key, UID and resourceVersion into one string, and all fields are substrings of that.
func (f *identity) strings(in *block) ObjectMeta {
	key := len(f.name)
	if len(f.namespace) > 0 {
		key += len(f.namespace) + 1
	}
	n := key + len(f.uid) + len(f.resourceVersion)
	if in == nil {
		in = new(block)
		in.Grow(n)
	}
	b := in.builder(n)
	begin := b.Len()
	if len(f.namespace) > 0 {
		b.Write(f.namespace)
		b.WriteByte('/')
	}
	b.Write(f.name)
	b.Write(f.uid)
	b.Write(f.resourceVersion)

	all := b.String()[begin:]
	meta := ObjectMeta{
		Key:             all[:key],
		Namespace:       all[:len(f.namespace)],
		Name:            all[key-len(f.name) : key],
		UID:             all[key : key+len(f.uid)],
		ResourceVersion: all[key+len(f.uid):],
	}
	if meta.Name == "" {
		meta.Key = ""
	}
	return meta
}

func errFormat(format Format) error {
	return fmt.Errorf("cannot read %v", format)
}
