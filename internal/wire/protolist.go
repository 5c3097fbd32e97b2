package wire

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/protowire"
)

// magic stands before every envelope.
const magic = "k8s\x00"

const (
	fieldTypeMeta = 1 // of an envelope, runtime.Unknown
	fieldRaw      = 2
	// Strings without a meaning on the wire, sent empty.
	fieldContentEncoding = 3
	fieldContentType     = 4

	fieldListMeta = 1 // of a list
	fieldItems    = 2
)

var errNoRaw = fmt.Errorf("the envelope has no content: %w", io.ErrUnexpectedEOF)

// protoList cuts a list in protobuf:
//
//	"k8s\x00"  envelope: typeMeta, raw  ┐
//	           list:     ListMeta, item, item, ...
//
// Fields may come in any order. The kind comes before the items in practice; if
// not, they are handed out without, and a wrong one is found at the end.
type protoList struct {
	listCutter
	protoReader
	raws int
}

func (l *protoList) run(header *ListHeader) error {
	l.protoReader = protoReader{window: &l.cutter.window, until: math.MaxInt64}
	defer func() { *header = l.header }()
	if err := l.readMagic(); err != nil {
		return err
	}
	for {
		more, err := l.next()
		if err != nil {
			return err
		}
		if !more {
			return l.finish()
		}
		switch l.field {
		case fieldTypeMeta:
			err = inField("typeMeta", l.typeMeta())
		case fieldRaw:
			err = l.raw()
		case fieldContentEncoding, fieldContentType:
			_, err = l.value()
		default:
			err = l.skip()
		}
		if err != nil {
			return err
		}
	}
}

func (l *protoList) readMagic() error {
	if err := l.need(len(magic)); err != nil && l.end == 0 {
		return fmt.Errorf("an empty body: %w", err)
	} else if b := l.ahead(); !strings.HasPrefix(magic, string(b[:min(len(b), len(magic))])) {
		return fmt.Errorf("it begins with %s where %q was expected", l.preview(), magic)
	} else if err != nil {
		return err
	}
	l.pos += len(magic)
	return nil
}

func (l *protoList) finish() error {
	if l.raws == 0 {
		return errNoRaw
	}
	if err := l.checkKind(); err != nil {
		return err
	}
	return l.listCutter.finish()
}

func (l *protoList) typeMeta() error {
	b, err := l.value()
	if err != nil {
		return err
	}
	t := runtime.TypeMeta{APIVersion: l.header.APIVersion, Kind: l.header.Kind}
	if err := t.Unmarshal(b); err != nil {
		return notShort(err)
	}
	l.header.APIVersion, l.header.Kind = t.APIVersion, t.Kind
	return nil
}

// checkKind refuses what is no list, or not the one that was asked for.
func (l *protoList) checkKind() error {
	kind := l.header.Kind
	if want := l.options.Kind; want != "" && kind != want+"List" {
		return fmt.Errorf("%w %q where %q was expected", ErrWrongKind, kind, want+"List")
	}
	if !strings.HasSuffix(kind, "List") || kind == "List" {
		return fmt.Errorf("%w %q where a list was expected", ErrWrongKind, kind)
	}
	return l.options.check(l.header.APIVersion, l.header.itemKind())
}

// raw reads the envelope's content.
func (l *protoList) raw() error {
	if l.raws++; l.raws > 1 {
		return errors.New("a second content in one envelope")
	}
	switch {
	case l.header.Kind == "Status":
		b, err := l.value()
		if err != nil {
			return inField("raw", err)
		}
		return statusError(b, Protobuf)
	case l.header.Kind != "":
		if err := l.checkKind(); err != nil {
			return err
		}
	}
	n, err := l.length()
	if err != nil {
		return inField("raw", err)
	}
	l.until = l.offset() + n
	err = l.list()
	l.until = math.MaxInt64
	return err
}

func (l *protoList) list() error {
	for {
		more, err := l.next()
		if err != nil || !more {
			return err
		}
		switch l.field {
		case fieldListMeta:
			err = inField("metadata", l.listMeta())
		case fieldItems:
			err = l.oneItem()
		default:
			err = l.skip()
		}
		if err != nil {
			return err
		}
	}
}

func (l *protoList) listMeta() error {
	b, err := l.value()
	if err != nil {
		return err
	}
	return notShort(l.header.Meta.Unmarshal(b))
}

// notShort keeps apart a message with lengths that do not fit from a body that
// ended too early: only that is io.ErrUnexpectedEOF.
func notShort(err error) error {
	if err == io.ErrUnexpectedEOF {
		return protowire.ErrOverrun
	}
	return err
}

func (l *protoList) oneItem() (err error) {
	l.item++
	item := &l.current
	n, err := l.length()
	if err != nil {
		return err
	}
	if n > int64(l.limit) && l.options.SkipOversized {
		return l.passOver(n)
	}
	if item.Raw, err = l.bytes(n); err != nil {
		return err
	}
	item.Offset = l.offset() - int64(len(item.Raw))
	item.APIVersion, item.Kind = "", ""
	return l.deliver()
}
