package wire

import (
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
)

// DefaultMaxItemSize is how large an object may be if nothing else is asked for.
// etcd takes 1.5 MiB by default and client-go's watches 16 MiB, in JSON an
// object can be several times what it is in protobuf: this leaves room for
// whatever works elsewhere, and one broken answer costs no more than it.
const DefaultMaxItemSize = 64 << 20

// Options says what a body may consist of. The zero value takes whatever is a
// list or a watch.
type Options struct {
	// MaxItemSize is the most bytes that an object, and so the buffer, may have;
	// in JSON a watch event counts as a whole. 0 is DefaultMaxItemSize.
	MaxItemSize int
	// PassOver has objects that are too large handed out by their identity alone
	// (see Item.TooLarge), and what follows them read, instead of ending the body
	// with ErrTooLarge: so one such object costs itself, not the others. The body
	// ends all the same where the identity does not come first.
	SkipOversized bool

	// APIVersion and Kind are those of the objects. A body of others is refused
	// as soon as it says so. Empty: any. An object that does not say what it is,
	// in a list that does not, is taken.
	APIVersion string
	Kind       string
}

// ErrWrongKind is the cause when a body is not of the objects it should be of,
// or no list.
var ErrWrongKind = errors.New("wrong kind")

// limit is the most bytes that an object may have.
func (o *Options) limit() int {
	if o.MaxItemSize <= 0 {
		return DefaultMaxItemSize
	}
	return o.MaxItemSize
}

// check compares what an object says of itself with what is expected.
func (o *Options) check(apiVersion, kind string) error {
	if o.Kind != "" && kind != "" && kind != o.Kind {
		return fmt.Errorf("%w %q where %q was expected", ErrWrongKind, kind, o.Kind)
	}
	if o.APIVersion != "" && apiVersion != "" && apiVersion != o.APIVersion {
		return fmt.Errorf("%w: %s %q where %q was expected", ErrWrongKind, kind, apiVersion, o.APIVersion)
	}
	return nil
}

// ListHeader is what a list has beside its items.
type ListHeader struct {
	APIVersion string
	Kind       string // as "PodList"
	Meta       metav1.ListMeta
}

// List cuts the body of a LIST into items and calls item with each, in order,
// as soon as its last byte has been read. It reads the body to its end. An error
// of item ends it and is returned as it is; the header then says what was known.
//
// Items that have been handed out stay so if the list turns out to be broken
// further on: only when List returns no error they were all, and the header is
// whole. An item is valid until item returns.
func List(body io.Reader, format Format, options Options, item func(*Item) error) (ListHeader, error) {
	return list(body, format, options, listBuffer, item)
}

// list is List with a buffer of some size to begin with.
func list(body io.Reader, format Format, options Options, buffer int, item func(*Item) error) (ListHeader, error) {
	cut := cutter{
		options: options,
		window:  newWindow(body, buffer, options.limit()),
		body:    format.what(aList),
		item:    -1,
	}
	l := listCutter{cutter: &cut, handle: item}
	l.current = Item{Format: format, body: cut.body}
	var err error
	switch format {
	case Protobuf:
		err = (&protoList{listCutter: l}).run(&l.header)
	case JSON:
		err = (&jsonList{listCutter: l}).run(&l.header)
	default:
		err = errFormat(format)
	}
	return l.header, cut.located(err)
}

// Empty returns a body that is the list without its items: same kind, same
// ListMeta. Members of it that Kubernetes does not know are lost.
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

// itemKind is the kind of the items of a list that do not say it themselves.
func (h *ListHeader) itemKind() string { return strings.TrimSuffix(h.Kind, "List") }

// cutter is what all ways of cutting have in common.
type cutter struct {
	window
	options Options
	body    string // "protobuf list", for errors
	item    int    // index of the object that is being read, -1 if none is

	oversized error // why the object about to be handed out lacks its end
}

// takeOversized returns why the object that is handed out is not whole, if it is not.
func (c *cutter) takeOversized() error {
	err := c.located(c.oversized)
	c.oversized = nil
	return err
}

// callbackError is an error of a callback on its way out, as it is.
type callbackError struct{ error }

// located says of an error where it occurred.
func (c *cutter) located(err error) error {
	switch callback, ok := err.(callbackError); {
	case err == nil:
		return nil
	case ok:
		return callback.error
	}
	offset := c.offset()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		offset = c.base + int64(c.end)
	}
	return located(c.body, offset, c.item, err)
}

// listCutter is what both ways of cutting a list have in common.
type listCutter struct {
	*cutter
	header  ListHeader
	current Item
	handle  func(*Item) error
	unnamed bool // an item was handed out of which no kind is known yet
}

// deliver hands out current, whose bytes and own kind are set.
func (l *listCutter) deliver() error {
	item := &l.current
	if item.Kind == "" && item.APIVersion == "" {
		item.APIVersion, item.Kind = l.header.APIVersion, l.header.itemKind()
		l.unnamed = l.unnamed || item.Kind == ""
	}
	if err := l.options.check(item.APIVersion, item.Kind); err != nil {
		return err
	}
	item.Index = l.item
	item.TooLarge = l.takeOversized()
	if err := l.handle(item); err != nil {
		return callbackError{err}
	}
	return nil
}

// finish checks what could be said only at the end of the list.
func (l *listCutter) finish() error {
	l.item = -1
	if l.unnamed {
		return l.options.check(l.header.APIVersion, l.header.itemKind())
	}
	return nil
}

// statusError is the error of a Status in the place of what was asked for.
func statusError(raw []byte, format Format) error {
	var status metav1.Status
	var err error
	if format == Protobuf {
		err = notShort(status.Unmarshal(raw))
	} else {
		err = json.Unmarshal(raw, &status)
	}
	if err != nil {
		return fmt.Errorf("%w: a Status that cannot be decoded: %w", ErrWrongKind, err)
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// isStatus tells whether err is one stated by the server.
func isStatus(err error) bool {
	var status *apierrors.StatusError
	return errors.As(err, &status)
}
