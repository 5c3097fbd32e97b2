package wire

import (
	"errors"
	"io"

	"github.com/kinformer/kinformer/internal/protowire"
)

// How an object that is larger than allowed is passed over: what comes first, and
// tells whose it is, is read as ever; the rest goes by without being held. API
// servers write an object's kind and metadata before everything else, and in the
// metadata the identity first, or nearly so.

// passedBeginning is how much of such an object is read in protobuf, where its size
// is known before it comes. In JSON it is as much as is allowed.
const passedBeginning = 64 << 10

// beginning reads what there is of the next n bytes, up to what is looked at. They
// stay ahead.
func (w *window) beginning(n int64) ([]byte, error) {
	size := int(min(n, int64(w.limit), passedBeginning))
	w.release()
	if err := w.need(size); err != nil {
		return nil, err
	}
	return w.ahead()[:size], nil
}

// contentOf returns the first bytes of a field in a message of which the end may be
// missing, as far as they are there; nil if it has none, or not in time.
func contentOf(b []byte, field int32) []byte {
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

// identityOnly returns an object that has an identity and nothing else: that of the
// object of which b is the beginning. It returns nil if that has no name.
func identityOnly(b []byte) []byte {
	var f identity
	_ = f.readMetadata(contentOf(b, fieldMetadata)) // what is not all there counts as absent
	if len(f.name) == 0 {
		return nil
	}
	var metadata []byte
	for _, one := range []struct {
		field int32
		value []byte
	}{{fieldName, f.name}, {fieldNamespace, f.namespace}, {fieldUID, f.uid}, {fieldResourceVersion, f.resourceVersion}} {
		metadata = appendBytes(metadata, one.field, one.value)
	}
	return appendBytes(nil, fieldMetadata, metadata)
}

// passOver hands out an item of n bytes, which come next, by its identity.
func (l *protoList) passOver(n int64) error {
	b, err := l.beginning(n)
	if err != nil {
		return err
	}
	item := &l.current
	item.Raw, item.Offset = identityOnly(b), l.offset()
	item.APIVersion, item.Kind = "", ""
	if l.oversized = l.tooLarge(n); item.Raw == nil {
		return l.oversized
	}
	if err := l.deliver(); err != nil {
		return err
	}
	return l.discard(n)
}

// passOver hands out an event of n bytes, which come next, by its object's identity.
// A body that is no stream of events at all may look like one of which the first is
// too large, until it does not begin as events do, or ends.
func (p *protoWatch) passOver(n int64) error {
	if err := p.need(1); err == nil && p.ahead()[0] != fieldEventType<<3|protowire.TypeBytes {
		return p.tooLarge(n)
	}
	b, err := p.beginning(n)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return p.tooLarge(n)
	}
	if err != nil {
		return err
	}
	object := contentOf(contentOf(b, fieldEventObject), fieldExtensionRaw)
	if len(object) < len(magic) || string(object[:len(magic)]) != magic {
		return p.tooLarge(n)
	}
	envelope := object[len(magic):]
	item := &p.current.Object
	item.Offset, item.Raw = p.offset(), identityOnly(contentOf(envelope, fieldRaw))
	typeMeta := contentOf(envelope, fieldTypeMeta)
	item.APIVersion, item.Kind = string(contentOf(typeMeta, fieldAPIVersion)), string(contentOf(typeMeta, fieldKind))
	if p.oversized = p.tooLarge(n); item.Raw == nil {
		return p.oversized
	}
	if err := p.deliver(contentOf(b, fieldEventType)); err != nil {
		return err
	}
	return p.discard(n)
}

// passOver hands out an item that turned out to be too large, with what is held of
// it.
func (l *jsonList) passOver(tooLarge error) error {
	text := l.held()
	if l.scanner.members.at[memberName] == (span{}) {
		return tooLarge
	}
	l.setObject(&l.current, text, text)
	l.oversized = tooLarge
	if err := l.deliver(); err != nil {
		return err
	}
	return l.restOfValue()
}

// passOver hands out an event that turned out to be too large, if what is held of it
// says its type and begins with the object.
func (j *jsonWatch) passOver(tooLarge error) error {
	text, found := j.held(), &j.scanner.members
	object := found.at[memberObject].of(text)
	if len(object) == 0 && found.current[depthMember] == memberObject {
		object = text[found.begun[depthMember]:]
	}
	if found.at[memberType] == (span{}) || found.at[memberName] == (span{}) || len(object) == 0 {
		return tooLarge
	}
	j.setObject(&j.current.Object, object, text)
	j.oversized = tooLarge
	if err := j.deliver(found.string(text, memberType)); err != nil {
		return err
	}
	return j.restOfValue()
}

// held is what has been scanned of the value that is being read.
func (r *jsonReader) held() []byte { return r.buf[r.mark:r.pos:r.pos] }

// restOfValue scans the value that is being read to its end without holding it.
func (r *jsonReader) restOfValue() error {
	r.scanner.members.start(scopeOther)
	for !r.scanner.done() {
		r.release()
		if err := r.fill(); err != nil {
			return cutShort(err)
		}
		r.scanner.i, r.scanner.text = 0, 0
		_, err := r.scanner.scan(r.ahead())
		r.pos = r.mark + r.scanner.i
		if err != nil {
			return err
		}
	}
	return nil
}
