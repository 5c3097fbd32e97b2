// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
)

// Defaults of Options. They bound the memory that a broken or hostile response can use.
const (
	// DefaultMaxItemSize exceeds the limit of etcd, 1.5 MiB by default and several times that once
	// encoded in JSON. No Go client can watch larger objects: it is the limit of client-go's
	// watches.
	DefaultMaxItemSize = 16 << 20
	// DefaultMaxHeaderSize is a thousand times what API servers send besides the objects.
	DefaultMaxHeaderSize = 1 << 20
)

// Options restricts the bodies that List and Watch accept. The zero value accepts every list and
// watch.
type Options struct {
	// MaxItemSize is the maximum size of an object in bytes; in watches, of an event. It also
	// bounds the buffer. 0 means DefaultMaxItemSize.
	MaxItemSize int
	// MaxHeaderSize is the maximum size in bytes of each part of a body that is not a watched
	// object: the metadata or another member of a list, a member's name, a Status, the object of a
	// BOOKMARK or ERROR event. 0 means DefaultMaxHeaderSize.
	MaxHeaderSize int
	// SkipOversized delivers an object larger than MaxItemSize by its identity alone (see
	// Item.TooLarge), or as Malformed if the identity is not at the beginning of the object, and
	// continues after it. Otherwise the first oversized object ends the body with ErrTooLarge.
	SkipOversized bool
	// Page says that the body continues another one. A page may have items of another kind alone.
	Page bool
	// Erase overwrites each buffer with zeros when it is not needed any more.
	Erase bool

	// APIVersion and Kind, if not empty, are those of the objects. A body of other objects is
	// rejected with ErrWrongKind. Objects without apiVersion and kind, in a list without them, are
	// accepted.
	APIVersion string
	Kind       string
}

// ErrWrongKind reports that a body holds objects of another kind, or is not a list.
var ErrWrongKind = errors.New("wrong kind")

// limits returns the bounds of an object and of a header.
func (o *Options) limits() (object, header bound) {
	object, header = bound{"Limits.Object", o.MaxItemSize}, bound{"Limits.Other", o.MaxHeaderSize}
	if object.bytes <= 0 {
		object.bytes = DefaultMaxItemSize
	}
	if header.bytes <= 0 {
		header.bytes = DefaultMaxHeaderSize
	}
	return object, header
}

// HeaderLimit returns MaxHeaderSize, or its default.
func (o *Options) HeaderLimit() int {
	_, header := o.limits()
	return header.bytes
}

// check returns ErrWrongKind if an object's apiVersion or kind is set and not the expected one.
func (o *Options) check(apiVersion, kind string) error {
	if o.Kind != "" && kind != "" && kind != o.Kind {
		return fmt.Errorf("%w %s, want %q", ErrWrongKind, Quote(kind), o.Kind)
	}
	if o.APIVersion != "" && apiVersion != "" && apiVersion != o.APIVersion {
		return fmt.Errorf("%w: apiVersion %s of %s, want %q", ErrWrongKind, Quote(apiVersion), Quote(kind), o.APIVersion)
	}
	return nil
}

// ListHeader holds the fields of a list other than its items.
type ListHeader struct {
	APIVersion string
	Kind       string // such as "PodList"
	Meta       metav1.ListMeta
}

// List splits the body of a LIST response into items and calls each with every item, in order, as
// soon as the item's last byte has been read. It reads the body to its end. If each returns an
// error, List stops and returns that error unchanged.
//
// The list is complete only if List returns no error: it delivers items before it has seen the rest
// of the body. On an error the header holds the fields read so far. An item is valid until each
// returns.
func List(body io.Reader, format Format, options Options, each func(*Item) error) (ListHeader, error) {
	return splitList(body, format, options, listBuffer, each)
}

// splitList is List with a given initial buffer size.
func splitList(body io.Reader, format Format, options Options, buffer int, item func(*Item) error) (ListHeader, error) {
	s := splitter{
		options: options,
		window:  newWindow(body, buffer, &options),
		body:    format.bodyName(bodyList),
		item:    -1,
	}
	defer s.close()
	l := listSplitter{splitter: &s, callback: item}
	l.current = Item{Format: format, body: s.body, block: new(block)}
	var err error
	switch format {
	case Protobuf:
		err = (&protoList{listSplitter: l}).split(&l.header)
	case JSON:
		err = (&jsonList{listSplitter: l}).split(&l.header)
	default:
		err = errFormat(format)
	}
	return l.header, s.wrapError(err)
}

// Empty returns the body of a list with this header and no items. Members of ListMeta that this
// version of Kubernetes does not define are lost.
func (h *ListHeader) Empty(format Format) ([]byte, error) {
	switch format {
	case Protobuf:
		return h.emptyProtobuf()
	case JSON:
		return json.Marshal(struct {
			Kind       string          `json:"kind"`
			APIVersion string          `json:"apiVersion"`
			Metadata   metav1.ListMeta `json:"metadata"`
			Items      []struct{}      `json:"items"`
		}{h.Kind, h.APIVersion, h.Meta, []struct{}{}})
	}
	return nil, errFormat(format)
}

func (h *ListHeader) emptyProtobuf() ([]byte, error) {
	meta, err := h.Meta.Marshal()
	if err != nil {
		return nil, err
	}
	envelope := runtime.Unknown{
		TypeMeta: runtime.TypeMeta{APIVersion: h.APIVersion, Kind: h.Kind},
		Raw:      appendBytes(nil, fieldListMeta, meta),
	}
	b, err := envelope.Marshal()
	return append([]byte(magic), b...), err
}

// itemKind returns the kind of items that do not carry their own.
func (h *ListHeader) itemKind() string { return strings.TrimSuffix(h.Kind, "List") }

// splitter is the common part of the list and watch splitters of both formats.
type splitter struct {
	window
	options Options
	body    string // "protobuf list", for errors
	item    int    // index of the object being read, -1 outside of objects

	oversized error // the ErrTooLarge of the next object to deliver
}

// takeOversized returns and clears the ErrTooLarge of the object being delivered.
func (s *splitter) takeOversized() error {
	err := s.wrapError(s.oversized)
	s.oversized = nil
	return err
}

// callbackError marks an error of a callback, which wrapError returns unchanged.
type callbackError struct{ error }

// wrapError returns err as an *Error at the current position.
func (s *splitter) wrapError(err error) error {
	switch callback, ok := err.(callbackError); {
	case err == nil:
		return nil
	case ok:
		return callback.error
	}
	offset := s.offset()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		offset = s.base + int64(s.end)
	}
	return newError(s.body, offset, s.item, err)
}

// listSplitter is the common part of jsonList and protoList.
type listSplitter struct {
	*splitter
	header      ListHeader
	current     Item
	callback    func(*Item) error
	kindUnknown bool // an item was delivered before its kind was known

	hasKind   bool  // an item has the expected kind
	otherKind error // of the first item that has another one
}

// deliver completes current, whose bytes and kind are set, and calls the callback with it. If it
// has the list's kind, another one than expected is an error of the list.
func (l *listSplitter) deliver() error {
	item := &l.current
	hasKind := item.Kind != "" || item.APIVersion != ""
	if !hasKind {
		item.APIVersion, item.Kind = l.header.APIVersion, l.header.itemKind()
		l.kindUnknown = l.kindUnknown || item.Kind == ""
	}
	switch err := l.options.check(item.APIVersion, item.Kind); {
	case err == nil:
		l.hasKind = true
		return l.call()
	case !hasKind:
		return err
	default:
		l.otherKind = cmp.Or(l.otherKind, l.wrapError(err))
		return l.deliverMalformed(err)
	}
}

// deliverMalformed calls the callback with an item that has no object of the list's kind. err says
// why.
func (l *listSplitter) deliverMalformed(err error) error {
	l.current.drop(l.wrapError(err))
	return l.call()
}

// call calls the callback with current.
func (l *listSplitter) call() error {
	item := &l.current
	item.Index = l.item
	item.TooLarge = l.takeOversized()
	if err := l.callback(item); err != nil {
		return callbackError{err}
	}
	item.Malformed = nil
	return nil
}

// finish makes the checks that need the whole body. A list in one piece of which no item has the
// expected kind, and one has another, is not one of the collection.
func (l *listSplitter) finish() error {
	switch l.item = -1; {
	case l.otherKind != nil && !l.hasKind && !l.options.Page && l.header.Meta.Continue == "":
		return callbackError{l.otherKind}
	case l.kindUnknown:
		return l.options.check(l.header.APIVersion, l.header.itemKind())
	}
	return nil
}

// statusError returns the error that an encoded Status represents.
func statusError(raw []byte, format Format) error {
	var status metav1.Status
	var err error
	if format == Protobuf {
		err = asOverrun(status.Unmarshal(raw))
	} else {
		err = json.Unmarshal(raw, &status)
	}
	if err != nil {
		return fmt.Errorf("%w: decode Status: %w", ErrWrongKind, err)
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// isStatus reports whether err is a Status of the server.
func isStatus(err error) bool {
	var status *apierrors.StatusError
	return errors.As(err, &status)
}
