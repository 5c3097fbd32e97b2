package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Fields of a watch event and what is in it.
const (
	fieldEventType   = 1 // of metav1.WatchEvent
	fieldEventObject = 2

	fieldExtensionRaw = 1 // of runtime.RawExtension

	fieldAPIVersion = 1 // of runtime.TypeMeta
	fieldKind       = 2
)

// frameHeader is the length that every event begins with, big-endian.
const frameHeader = 4

var errNotFramed = errors.New("one object where a stream of events was expected")

// protoWatch cuts a watch in protobuf:
//
//	length  WatchEvent: type, object ┐
//	                                 RawExtension: raw ┐
//	                                                   "k8s\x00"  envelope: typeMeta, raw
type protoWatch struct {
	*watchCutter
	apiVersion, kind string // of the last object, so that equal ones are one
}

func (p *protoWatch) run() error {
	for {
		p.shrink()
		if p.pos == p.end {
			if err := p.fill(); err == io.EOF {
				return nil
			} else if err != nil {
				return cutShort(err)
			}
		}
		n, err := p.frameLength()
		if err != nil {
			return err
		}
		if err := p.frame(n); err != nil {
			return err
		}
	}
}

// frameLength reads the length of the next event.
func (p *protoWatch) frameLength() (int64, error) {
	if err := p.need(frameHeader); err != nil {
		return 0, err
	}
	header := p.ahead()[:frameHeader]
	if string(header) == magic {
		return 0, p.notFramed()
	}
	n := int64(binary.BigEndian.Uint32(header))
	if n > int64(p.limit) && !p.options.SkipOversized {
		return 0, p.tooLarge(n)
	}
	p.pos += frameHeader
	p.release()
	return n, nil
}

// frame reads an event of n bytes and hands it out.
func (p *protoWatch) frame(n int64) error {
	if n > int64(p.limit) {
		return p.passOver(n)
	}
	if err := p.need(int(n)); err != nil {
		return err
	}
	if err := p.event(p.ahead()[:n:n]); err != nil {
		return err
	}
	p.pos += int(n)
	return nil
}

// notFramed is the error of a body that is one object and no stream of events:
// the error stated by it, if it is a Status.
func (p *protoWatch) notFramed() error {
	list := protoList{listCutter: listCutter{
		cutter: &p.cutter,
		handle: func(*Item) error { return errNotFramed },
	}}
	p.item = -1
	if err := list.run(&ListHeader{}); isStatus(err) {
		return err
	}
	return errNotFramed
}

// event reads an event and hands it out.
func (p *protoWatch) event(frame []byte) error {
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
	if m.err != nil {
		return m.err
	}
	return p.deliver(eventType)
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

// openEnvelope takes the envelope off an event's object.
func (p *protoWatch) openEnvelope(object []byte) error {
	if len(object) < len(magic) || string(object[:len(magic)]) != magic {
		return fmt.Errorf("it begins with %s where %q was expected", excerpt(object), magic)
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
