package wire

import (
	"fmt"
	"strings"
)

// Item is one object, cut out of a body and not decoded. Its fields say what
// could be told without reading the rest; its methods read more.
//
// Raw is valid until the function that was given the item returns.
type Item struct {
	Raw    []byte // the object: a bare protobuf message, or JSON from '{' to '}'
	Format Format
	Index  int   // which of the body's objects it is, from 0
	Offset int64 // where Raw begins in the body

	// APIVersion and Kind are the object's own. An item of a list may have
	// none, as all built-in types; it then has its list's, if that was known
	// when the item came (some lists in JSON say it after their items).
	APIVersion string
	Kind       string

	// TooLarge, if not nil, is an *Error with ErrTooLarge: the object is larger than
	// Options.MaxItemSize, and only as much of it is here as Meta needs. Raw cannot
	// be decoded.
	TooLarge error

	members members // in JSON: where the scanner saw what is of interest
	text    []byte  // in JSON: what members refers to, Raw or what it lies in
	body    string  // what the item is part of, for errors
}

// ObjectMeta is what tells an object's identity. Its strings are one allocation.
type ObjectMeta struct {
	Key             string // "namespace/name", "name" without namespace; empty without name
	Namespace       string
	Name            string
	UID             string
	ResourceVersion string
}

// Parse makes an item of an object's bytes as Item.Raw has them, without
// keeping a copy. JSON is checked in full.
func Parse(raw []byte, format Format) (Item, error) {
	item := Item{Raw: raw, Format: format, body: format.what(anObject)}
	switch format {
	case Protobuf:
		return item, nil
	case JSON:
		return item, item.parseJSON()
	}
	return item, item.located(0, errFormat(format))
}

// Meta reads the object's identity. What the object lacks is empty, without
// error: judging that is the caller's.
func (i *Item) Meta() (ObjectMeta, error) {
	var fields identity
	var err error
	if i.Format == Protobuf {
		err = fields.readMessage(i.Raw)
	} else {
		fields, err = i.members.identity(i.text)
	}
	if err != nil {
		return ObjectMeta{}, i.located(i.Offset, err)
	}
	return fields.strings(), nil
}

// Labels reads the object's labels; nil if it has none.
func (i *Item) Labels() (map[string]string, error) {
	labels, err := i.stringMap(fieldLabels)
	if err != nil {
		return nil, i.located(i.Offset, err)
	}
	return labels, nil
}

// annotations reads the object's annotations; nil if it has none.
func (i *Item) annotations() (map[string]string, error) {
	annotations, err := i.stringMap(fieldAnnotations)
	if err != nil {
		return nil, i.located(i.Offset, err)
	}
	return annotations, nil
}

func (i *Item) stringMap(field metaField) (map[string]string, error) {
	if i.Format == Protobuf {
		return messageMap(i.Raw, field)
	}
	return i.members.stringMap(i.text, field)
}

// located makes an error of the item's an *Error.
func (i *Item) located(offset int64, err error) error {
	index := i.Index
	if !strings.HasSuffix(i.body, "list") && !strings.HasSuffix(i.body, "watch") {
		index = -1
	}
	return located(i.body, offset, index, err)
}

// metaField is a member of metadata that is a map of strings.
type metaField int32

// Their numbers are those of the fields of ObjectMeta in protobuf.
const (
	fieldLabels      metaField = 11
	fieldAnnotations metaField = 12
)

func (f metaField) String() string {
	if f == fieldLabels {
		return "labels"
	}
	return "annotations"
}

// identity is ObjectMeta while it is still part of a buffer.
type identity struct {
	namespace, name, uid, resourceVersion []byte
}

// strings copies the identity out of the buffer: key, UID and resourceVersion
// behind one another in one string, of which all others are parts.
func (f *identity) strings() ObjectMeta {
	key := len(f.name)
	if len(f.namespace) > 0 {
		key += len(f.namespace) + 1
	}
	var b strings.Builder
	b.Grow(key + len(f.uid) + len(f.resourceVersion))
	if len(f.namespace) > 0 {
		b.Write(f.namespace)
		b.WriteByte('/')
	}
	b.Write(f.name)
	b.Write(f.uid)
	b.Write(f.resourceVersion)

	all := b.String()
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
	return fmt.Errorf("%v cannot be read", format)
}
