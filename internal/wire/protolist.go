// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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

// magic precedes every envelope.
const magic = "k8s\x00"

const (
	fieldTypeMeta = 1 // of an envelope, runtime.Unknown
	fieldRaw      = 2
	// Servers send these empty.
	fieldContentEncoding = 3
	fieldContentType     = 4

	fieldListMeta = 1 // of a list
	fieldItems    = 2
)

var errNoContent = fmt.Errorf("envelope without content: %w", io.ErrUnexpectedEOF)

// protoList splits a list in protobuf:
//
//	"k8s\x00"  envelope: typeMeta, raw  ┐
//	           list:     ListMeta, item, item, ...
//
// The fields may come in any order. If the kind comes after the items, which no server does, the
// items are delivered without a kind, and a wrong kind is detected at the end.
type protoList struct {
	listSplitter
	protoReader
	contents int
}

func (l *protoList) split(header *ListHeader) error {
	l.protoReader = protoReader{window: &l.splitter.window, until: math.MaxInt64}
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
			err = inField("typeMeta", l.readTypeMeta())
		case fieldRaw:
			err = l.readContent()
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
		return fmt.Errorf("empty body: %w", err)
	} else if b := l.unread(); !strings.HasPrefix(magic, string(b[:min(len(b), len(magic))])) {
		return fmt.Errorf("%s, want %q", beginning(b), magic)
	} else if err != nil {
		return err
	}
	l.pos += len(magic)
	return nil
}

func (l *protoList) finish() error {
	if l.contents == 0 {
		return errNoContent
	}
	if err := l.checkKind(); err != nil {
		return err
	}
	return l.listSplitter.finish()
}

func (l *protoList) readTypeMeta() error {
	b, err := l.value()
	if err != nil {
		return err
	}
	t := runtime.TypeMeta{APIVersion: l.header.APIVersion, Kind: l.header.Kind}
	if err := t.Unmarshal(b); err != nil {
		return asOverrun(err)
	}
	l.header.APIVersion, l.header.Kind = t.APIVersion, t.Kind
	return nil
}

// checkKind returns ErrWrongKind unless the body is a list of the expected kind.
func (l *protoList) checkKind() error {
	kind := l.header.Kind
	if want := l.options.Kind; want != "" && kind != want+"List" {
		return fmt.Errorf("%w %s, want %q", ErrWrongKind, Quote(kind), want+"List")
	}
	if !strings.HasSuffix(kind, "List") || kind == "List" {
		return fmt.Errorf("%w %s, want a list", ErrWrongKind, Quote(kind))
	}
	return l.options.check(l.header.APIVersion, l.header.itemKind())
}

// readContent reads the envelope's content, the list.
func (l *protoList) readContent() error {
	if l.contents++; l.contents > 1 {
		return errors.New("duplicate content in envelope")
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
	err = l.readList()
	l.until = math.MaxInt64
	return err
}

func (l *protoList) readList() error {
	for {
		more, err := l.next()
		if err != nil || !more {
			return err
		}
		switch l.field {
		case fieldListMeta:
			err = inField("metadata", l.readListMeta())
		case fieldItems:
			err = l.readItem()
		default:
			err = l.skip()
		}
		if err != nil {
			return err
		}
	}
}

func (l *protoList) readListMeta() error {
	b, err := l.value()
	if err != nil {
		return err
	}
	return asOverrun(l.header.Meta.Unmarshal(b))
}

// asOverrun returns err, or protowire.ErrOverrun if generated code returned io.ErrUnexpectedEOF,
// which in this package means a truncated body.
func asOverrun(err error) error {
	if err == io.ErrUnexpectedEOF {
		return protowire.ErrOverrun
	}
	return err
}

// readItem reads one item and delivers it.
func (l *protoList) readItem() (err error) {
	l.item++
	item := &l.current
	n, err := l.length()
	if err != nil {
		return err
	}
	if n > int64(l.limit.bytes) && l.options.SkipOversized {
		return l.skipOversized(n)
	}
	if item.Raw, err = l.bytes(n); err != nil {
		return err
	}
	item.Offset = l.offset() - int64(len(item.Raw))
	item.APIVersion, item.Kind = "", ""
	return l.deliver()
}
