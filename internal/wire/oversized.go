// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"io"

	"github.com/kinformer/kinformer/internal/protowire"
)

// This file skips oversized objects, and in JSON those nested too deeply. It reads the identity
// from the beginning of the object and skips the rest without holding it. API servers write an
// object's kind and metadata first, and in the metadata the identity first or nearly so.

// maxPrefix is the maximum part of an oversized object that is read in protobuf, where the size is
// known in advance. In JSON it is Options.MaxItemSize.
const maxPrefix = 64 << 10

// peekPrefix returns the first of the next n bytes, at most maxPrefix, without consuming them.
func (w *window) peekPrefix(n int64) ([]byte, error) {
	size := int(min(n, int64(w.limit.bytes), maxPrefix))
	w.release()
	if err := w.need(size); err != nil {
		return nil, err
	}
	return w.unread()[:size], nil
}

// prefixOf returns the available bytes of the first such field in a truncated message. It returns
// nil if the field is not in b.
func prefixOf(b []byte, field int32) []byte {
	m := message{b: b}
	for m.next() {
		if m.field != field || m.wire != protowire.TypeBytes {
			m.skip()
			continue
		}
		n, start, err := protowire.Varint(m.b, m.i)
		if err != nil {
			return nil
		}
		return m.b[start : start+int(min(n, uint64(len(m.b)-start)))]
	}
	return nil
}

// identityOnly returns the encoding of an object that has only the identity of the object that b is
// the beginning of. It returns nil if b holds no name.
func identityOnly(b []byte) []byte {
	var f identity
	_, _, _ = f.readMetadata(prefixOf(b, fieldMetadata)) // a truncated field counts as absent
	if len(f.name) == 0 {
		return nil
	}
	var metadata []byte
	for _, f := range []struct {
		field int32
		value []byte
	}{{fieldName, f.name}, {fieldNamespace, f.namespace}, {fieldUID, f.uid}, {fieldResourceVersion, f.resourceVersion}} {
		metadata = appendBytes(metadata, f.field, f.value)
	}
	return appendBytes(nil, fieldMetadata, metadata)
}

// skipOversized delivers the identity of the next n bytes, an item, and skips them.
func (l *protoList) skipOversized(n int64) error {
	b, err := l.peekPrefix(n)
	if err != nil {
		return err
	}
	item := &l.current
	item.Raw, item.Offset = identityOnly(b), l.offset()
	item.APIVersion, item.Kind = "", ""
	if tooLarge := l.tooLarge(n); item.Raw == nil {
		err = l.deliverMalformed(tooLarge)
	} else {
		l.oversized = tooLarge
		err = l.deliver()
	}
	if err != nil {
		return err
	}
	return l.discard(n)
}

// skipOversized delivers the identity of the object in the next n bytes, an event, and skips them.
// A body that is not a stream of events may look like one with an oversized first event; it differs
// in its first byte, or ends before n bytes.
func (p *protoWatch) skipOversized(n int64) error {
	if err := p.need(1); err == nil && p.unread()[0] != fieldEventType<<3|protowire.TypeBytes {
		return p.tooLarge(n)
	}
	b, err := p.peekPrefix(n)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return p.tooLarge(n)
	}
	if err != nil {
		return err
	}
	object := prefixOf(prefixOf(b, fieldEventObject), fieldExtensionRaw)
	if len(object) < len(magic) || string(object[:len(magic)]) != magic {
		return p.tooLarge(n)
	}
	envelope := object[len(magic):]
	item := &p.current.Object
	item.Offset, item.Raw = p.offset(), identityOnly(prefixOf(envelope, fieldRaw))
	typeMeta := prefixOf(envelope, fieldTypeMeta)
	item.APIVersion, item.Kind = string(prefixOf(typeMeta, fieldAPIVersion)), string(prefixOf(typeMeta, fieldKind))
	tooLarge := p.tooLarge(n)
	if p.oversized = tooLarge; item.Raw != nil {
		tooLarge = nil
	}
	if err := p.deliver(prefixOf(b, fieldEventType), tooLarge); err != nil {
		return err
	}
	return p.discard(n)
}

// skipOversized delivers the held beginning of an item that exceeds a limit, and skips the rest.
func (l *jsonList) skipOversized(tooLarge error) error {
	var err error
	if !l.scanner.members.identify() {
		err = l.deliverMalformed(tooLarge)
	} else {
		text := l.heldValue()
		l.setObject(&l.current, text, text)
		l.oversized = tooLarge
		err = l.deliver()
	}
	if err != nil {
		return err
	}
	return l.skipRestOfValue(tooLarge)
}

// skipOversized delivers the held beginning of an event that exceeds a limit, and skips the rest.
// It returns tooLarge if that beginning lacks the type.
func (j *jsonWatch) skipOversized(tooLarge error) error {
	text, found := j.heldValue(), &j.scanner.members
	object := found.at[memberObject].of(text)
	if len(object) == 0 && found.current[depthMember] == memberObject {
		object = text[found.starts[depthMember]:]
	}
	if found.at[memberType] == (span{}) {
		return tooLarge
	}
	var malformed error
	if !found.identify() || len(object) == 0 {
		malformed = tooLarge
	}
	j.setObject(&j.current.Object, object, text)
	j.oversized = tooLarge
	if err := j.deliver(found.string(text, memberType), malformed); err != nil {
		return err
	}
	return j.skipRestOfValue(tooLarge)
}

// identify reports whether the members of the beginning of an object identify it: no namespace can
// follow its name any more.
func (m *members) identify() bool {
	return m.at[memberName] != (span{}) && (m.at[memberMetadata] != (span{}) || m.at[memberNamespace] != (span{}) || m.at[memberUID] != (span{}))
}

// heldValue returns the scanned bytes of the value being read.
func (r *jsonReader) heldValue() []byte { return r.buf[r.mark:r.pos:r.pos] }

// skipRestOfValue reads the value being read to its end without holding it. What is nested deeper
// than the scanner goes is not validated, but for its strings and the number of its brackets.
func (r *jsonReader) skipRestOfValue(because error) error {
	if errors.Is(because, errDepth) {
		return r.skipBrackets(r.scanner.depth)
	}
	r.scanner.members.start(levelOther)
	for !r.scanner.done() {
		r.release()
		if err := r.fill(); err != nil {
			return noEOF(err)
		}
		r.scanner.i, r.scanner.stringStart = 0, 0
		_, err := r.scanner.scan(r.unread())
		r.pos = r.mark + r.scanner.i
		if errors.Is(err, errDepth) {
			return r.skipBrackets(r.scanner.depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// skipBrackets reads to the end of a value of which a number of arrays and objects are open.
func (r *jsonReader) skipBrackets(depth int) error {
	inString, escaped := false, false
	for {
		for ; r.pos < r.end; r.pos++ {
			switch c := r.buf[r.pos]; {
			case escaped:
				escaped = false
			case inString:
				escaped, inString = c == '\\', c != '"'
			case c == '"':
				inString = true
			case c == '{', c == '[':
				depth++
			case c == '}', c == ']':
				if depth--; depth == 0 {
					r.pos++
					return nil
				}
			}
		}
		r.release()
		if err := r.fill(); err != nil {
			return noEOF(err)
		}
	}
}
