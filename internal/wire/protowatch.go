// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Field numbers of a watch event and its parts.
const (
	fieldEventType   = 1 // of metav1.WatchEvent
	fieldEventObject = 2

	fieldExtensionRaw = 1 // of runtime.RawExtension

	fieldAPIVersion = 1 // of runtime.TypeMeta
	fieldKind       = 2
)

// frameHeader is the size of the big-endian length before every event.
const frameHeader = 4

var errNotFramed = errors.New("single object, want a stream of events")

// protoWatch splits a watch in protobuf:
//
//	length  WatchEvent: type, object ┐
//	                                 RawExtension: raw ┐
//	                                                   "k8s\x00"  envelope: typeMeta, raw
type protoWatch struct {
	*watchSplitter
	apiVersion, kind string // of the last object, reused if the next one has the same
}

func (p *protoWatch) split() error {
	for {
		p.shrink()
		if p.pos == p.end {
			if err := p.fill(); err == io.EOF {
				return nil
			} else if err != nil {
				return noEOF(err)
			}
		}
		n, err := p.readFrameLength()
		if err != nil {
			return err
		}
		if err := p.readFrame(n); err != nil {
			return err
		}
	}
}

// readFrameLength reads the length of the next event.
func (p *protoWatch) readFrameLength() (int64, error) {
	if err := p.need(frameHeader); err != nil {
		return 0, err
	}
	header := p.unread()[:frameHeader]
	if string(header) == magic {
		return 0, p.unframedError()
	}
	n := int64(binary.BigEndian.Uint32(header))
	if n > int64(p.limit.bytes) && !p.options.SkipOversized {
		return 0, p.tooLarge(n)
	}
	p.pos += frameHeader
	p.release()
	return n, nil
}

// readFrame reads an event of n bytes and delivers it.
func (p *protoWatch) readFrame(n int64) error {
	if n > int64(p.limit.bytes) {
		return p.skipOversized(n)
	}
	if err := p.need(int(n)); err != nil {
		return err
	}
	if err := p.readEvent(p.unread()[:n:n]); err != nil {
		return err
	}
	p.pos += int(n)
	return nil
}

// unframedError returns the error for a body that is a single object. For a Status it is the error
// that the Status encodes.
func (p *protoWatch) unframedError() error {
	list := protoList{listSplitter: listSplitter{
		splitter: &p.splitter,
		callback: func(*Item) error { return errNotFramed },
	}}
	p.item = -1
	if err := list.split(&ListHeader{}); isStatus(err) {
		return err
	}
	return errNotFramed
}

// readEvent parses an event and delivers it.
func (p *protoWatch) readEvent(frame []byte) error {
	p.current.Object.Offset = p.offset()
	p.current.Object.Raw = nil
	var eventType, object []byte
	m := message{b: frame}
	for m.next() {
		switch m.field {
		case fieldEventType:
			eventType = m.value("type")
		case fieldEventObject:
			extension := m.value("object")
			m.fail("object", readExtension(extension, &object))
		default:
			m.skip()
		}
	}
	if len(object) > 0 && m.err == nil {
		m.fail("object", p.openEnvelope(object))
	}
	return p.deliver(eventType, m.err)
}

// readExtension reads a runtime.RawExtension.
func readExtension(extension []byte, raw *[]byte) error {
	m := message{b: extension}
	for m.next() {
		switch m.field {
		case fieldExtensionRaw:
			*raw = m.value("raw")
		default:
			m.skip()
		}
	}
	return m.err
}

// openEnvelope sets the current object from its envelope.
func (p *protoWatch) openEnvelope(object []byte) error {
	if len(object) < len(magic) || string(object[:len(magic)]) != magic {
		return fmt.Errorf("%s, want %q", beginning(object), magic)
	}
	var apiVersion, kind []byte
	item := &p.current.Object
	m := message{b: object[len(magic):]}
	for m.next() {
		switch m.field {
		case fieldTypeMeta:
			typeMeta := m.value("typeMeta")
			m.fail("typeMeta", readTypeMeta(typeMeta, &apiVersion, &kind))
		case fieldRaw:
			item.Raw = m.value("raw")
		case fieldContentEncoding, fieldContentType:
			m.value("contentType")
		default:
			m.skip()
		}
	}
	p.apiVersion, p.kind = reuse(p.apiVersion, apiVersion), reuse(p.kind, kind)
	item.APIVersion, item.Kind = p.apiVersion, p.kind
	return m.err
}

// readTypeMeta reads a runtime.TypeMeta.
func readTypeMeta(typeMeta []byte, apiVersion, kind *[]byte) error {
	m := message{b: typeMeta}
	for m.next() {
		switch m.field {
		case fieldAPIVersion:
			*apiVersion = m.value("apiVersion")
		case fieldKind:
			*kind = m.value("kind")
		default:
			m.skip()
		}
	}
	return m.err
}
