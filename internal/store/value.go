// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"
	"weak"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/history"
	"github.com/kinformer/kinformer/internal/pack"
)

// valueCodec converts between values and their references, and calls the functions of the
// configuration that read values.
type valueCodec struct {
	nilPointer    any  // of Config.PointerType, nil without it
	direct        bool // a value is a pointer, and is its own valueRef
	config        Config
	keepsUnpacked atomic.Bool                                // a value could not be packed, which is reported once
	abandoned     atomic.Bool                                // see Abandon
	unreadable    func(key string, ref *valueRef, err error) // is called with a reference that could not be decoded
	_             [8]byte                                    // so that yielding is far from what Get reads
	yielding      atomic.Int32                               // number of readers in yieldAfterLongRead
}

// refOf returns the reference of a value that is not packed.
func (v *valueCodec) refOf(value any) *valueRef {
	if v.direct {
		if reflect.TypeOf(value) != v.config.PointerType { // would be read as another type than it is
			panic(fmt.Sprintf("store of %s: the value is a %T", v.config.PointerType, value))
		}
		return pointerIn(value)
	}
	boxed := value                             // on the heap, unlike value
	return (*valueRef)(unsafe.Pointer(&boxed)) //nolint:gosec // valueCodec.value converts it back
}

// value returns the value of a reference returned by refOf.
func (v *valueCodec) value(ref *valueRef) any {
	if v.direct {
		return v.fromPointer(ref)
	}
	return *(*any)(unsafe.Pointer(ref)) //nolint:gosec // made by refOf
}

// wordsOf has the memory layout of an any that holds a pointer.
type wordsOf struct{ goType, pointer unsafe.Pointer }

// pointerIn returns the pointer that value holds.
func pointerIn(value any) *valueRef {
	return (*valueRef)((*wordsOf)(unsafe.Pointer(&value)).pointer) //nolint:gosec // value holds a pointer
}

// fromPointer returns the value, of Config.PointerType, that holds a pointer.
func (v *valueCodec) fromPointer(ref *valueRef) any {
	value := v.nilPointer
	(*wordsOf)(unsafe.Pointer(&value)).pointer = unsafe.Pointer(ref) //nolint:gosec // value holds a pointer
	return value
}

func (p *packed) ref() *valueRef { return (*valueRef)(unsafe.Pointer(p)) } //nolint:gosec // packedOf converts it back

// packedOf returns the packed value of a reference, in a store that packs.
func packedOf(ref *valueRef) *packed { return (*packed)(unsafe.Pointer(ref)) } //nolint:gosec // made by packed.ref

// equal reports whether the values of two references are equal. Values that cannot be decoded or
// compared are not equal.
func (v *valueCodec) equal(a, b *valueRef) bool {
	return v.hasEqualBytes(a, b) || v.compareValues(a, b, history.EqualContents)
}

// sameWrite reports whether the values of two references say that one write has made both.
func (v *valueCodec) sameWrite(a, b *valueRef) bool {
	return v.compareValues(a, b, history.SameWrite)
}

// hasEqualBytes reports whether two references are packed values of the same bytes.
func (v *valueCodec) hasEqualBytes(a, b *valueRef) bool {
	if v.config.Packer == nil || packedOf(a).live.Load() == &notPacked || packedOf(b).live.Load() == &notPacked {
		return false
	}
	left, err := packedOf(a).object.Unpack(nil)
	if err != nil {
		return false
	}
	right, err := packedOf(b).object.Unpack(nil)
	return err == nil && bytes.Equal(left, right)
}

// compareValues calls a function with the values of two references. It decodes packed values anew,
// because a caller may have modified a shared decoded object. It returns false if the values cannot
// be decoded, or the function panics, as on types with unexported fields.
func (v *valueCodec) compareValues(a, b *valueRef, equal func(a, b any) bool) bool {
	result, err := feed.CatchPanic(func() (bool, error) {
		left, err := v.decodeAnew(a)
		if err != nil {
			return false, err
		}
		right, err := v.decodeAnew(b)
		return err == nil && equal(left, right), err
	})
	return err == nil && result
}

// decodeAnew returns the value of a reference, which it decodes if it is packed.
func (v *valueCodec) decodeAnew(ref *valueRef) (any, error) {
	if v.config.Packer == nil {
		return v.value(ref), nil
	}
	if value, ok := v.unpackedValue(packedOf(ref)); ok {
		return value, nil
	}
	return v.config.Packer.Unpack(packedOf(ref).object)
}

// packed is an entry's packed value.
type packed struct {
	object pack.Object // immutable
	// live is the handle of the decoded object; it is nil once nothing references the object. It is
	// &notPacked for a value that could not be packed: the packed is then that of an unpacked.
	live atomic.Pointer[decoded]
}

// unpacked is an entry's value that the packer does not support.
type unpacked struct {
	packed
	value any
}

var notPacked decoded //nolint:gochecknoglobals // only its address is used

// keepUnpacked returns the reference of a value that the packer does not support.
func (v *valueCodec) keepUnpacked(value any) *valueRef {
	u := &unpacked{value: value}
	u.live.Store(&notPacked)
	return u.ref()
}

// unpackedValue returns the value of an entry that the packer does not support.
func (v *valueCodec) unpackedValue(p *packed) (value any, ok bool) {
	if p.live.Load() != &notPacked {
		return value, false
	}
	return (*unpacked)(unsafe.Pointer(p)).value, true //nolint:gosec // made by keepUnpacked
}

// IsPacked reports whether values are decoded when they are read.
func (v *valueCodec) IsPacked() bool { return v.config.Packer != nil }

// labelReader is implemented by a Packer that can read labels without unpacking the object.
type labelReader interface {
	// Labels returns the labels of an object that Pack returned. All objects of a pack.ExcerptGroup
	// have equal labels.
	Labels(object pack.Object) (map[string]string, error)
}

// packedLabels reads labels from packed bytes. It returns false if the value has to be decoded
// instead: it is live already, the packer cannot read labels, or reading them fails.
func (v *valueCodec) packedLabels(p *packed) (labels map[string]string, ok bool) {
	reader, ok := v.config.Packer.(labelReader)
	if !ok {
		return nil, false
	}
	if _, held := v.loadLive(p); held {
		return nil, false
	}
	labels, err := feed.CatchPanic(func() (map[string]string, error) { return reader.Labels(p.object) })
	return labels, err == nil
}

// Load returns an entry's value, which it decodes if the entry is packed. An entry that cannot be
// decoded is reported, once while it is the live one, and its key is quarantined, so that the
// object is fetched again.
func (v *valueCodec) Load(key string, entry *Entry) (any, bool) { return v.load(key, entry.ref) }

func (v *valueCodec) load(key string, ref *valueRef) (any, bool) {
	value, err := v.read(ref, true)
	if err != nil {
		v.unreadable(key, ref, err)
	}
	return value, err == nil
}

// TryLoad returns an entry's value like Load, but neither reports nor quarantines an entry that
// cannot be decoded, and does not share the decoded value with other readers.
func (v *valueCodec) TryLoad(entry *Entry) (any, bool) {
	value, err := v.read(entry.ref, false)
	return value, err == nil
}

// read returns the value of an entry, which it decodes if the entry is packed. If share is set,
// other readers share what it has decoded.
func (v *valueCodec) read(ref *valueRef, share bool) (any, error) {
	if v.config.Packer == nil {
		return v.value(ref), nil
	}
	p := packedOf(ref)
	if value, ok := v.loadLive(p); ok {
		return value, nil
	}
	value, err := feed.CatchPanic(func() (any, error) { return v.config.Packer.Unpack(p.object) })
	if err == nil && share {
		value = v.storeLive(p, value)
	}
	return value, err
}

// updateUnpacker is implemented by a Packer that decodes both states of an update at less cost than
// one after the other.
type updateUnpacker interface {
	// UnpackUpdate returns the values of two objects that Pack returned.
	UnpackUpdate(old, updated pack.Object) (states [2]any, err error)
}

// DecodeUpdate decodes both states of an update together, unless one of them is live already. Load
// returns these values while the caller references states, and reports the error if one of them
// cannot be decoded.
func (v *valueCodec) DecodeUpdate(old, updated *Entry) (states [2]any) {
	unpacker, ok := v.config.Packer.(updateUnpacker)
	if !ok {
		return states
	}
	before, after := packedOf(old.ref), packedOf(updated.ref)
	for _, p := range []*packed{before, after} {
		if _, live := v.loadLive(p); live {
			return states
		}
	}
	states, err := feed.CatchPanic(func() ([2]any, error) { return unpacker.UnpackUpdate(before.object, after.object) })
	if err != nil {
		return [2]any{}
	}
	return [2]any{v.storeLive(before, states[0]), v.storeLive(after, states[1])}
}

// decoded is the handle of a packed's decoded object.
type decoded struct {
	object weak.Pointer[valueRef] // nil once nothing references the object
}

// loadLive returns the decoded value if a reader references it, or the store keeps it unpacked.
func (v *valueCodec) loadLive(p *packed) (value any, ok bool) {
	switch d := p.live.Load(); d {
	case nil:
	case &notPacked:
		return v.unpackedValue(p)
	default:
		if ref := d.object.Value(); ref != nil {
			return v.fromPointer(ref), true
		}
	}
	return value, false
}

// storeLive records a decoded value and returns it, or returns the value that another reader
// recorded first, so that concurrent readers share one object. The garbage collector frees the
// handle together with the object.
func (v *valueCodec) storeLive(p *packed, value any) any {
	if reflect.TypeOf(value) != v.config.PointerType {
		return value
	}
	ref := pointerIn(value)
	if ref == nil {
		return value
	}
	d := &decoded{weak.Make(ref)}
	for {
		other := p.live.Load()
		if other != nil {
			if ref := other.object.Value(); ref != nil {
				return v.fromPointer(ref)
			}
		}
		if p.live.CompareAndSwap(other, d) {
			break
		}
	}
	runtime.AddCleanup(ref, func(d *decoded) { p.live.CompareAndSwap(d, nil) }, d)
	return value
}

// keptKey returns the key to store an item under. For a new entry of a store that packs, that is a
// copy: an item's key is a part of a longer string, which would stay in memory.
func (v *valueCodec) keptKey(key string, old *Entry) string {
	if old == nil && v.IsPacked() {
		return strings.Clone(key)
	}
	return key
}

// packedSize returns the size of the packed object of an entry, zero if it is nil. The store must
// pack.
func (e *Entry) packedSize() int64 {
	if e == nil {
		return 0
	}
	return int64(packedOf(e.ref).object.Size())
}

// Abandon prevents further calls of Decode and Report: Apply and replacements end their goroutine
// instead, by runtime.Goexit, and change nothing. It is for an informer that has stopped while a
// function of the program blocks. Writes of the program are not affected.
func (v *valueCodec) Abandon() { v.abandoned.Store(true) }

// EndIfAbandoned ends the goroutine after Abandon. It is called before and after Decode, and by the
// store's owner before other functions.
func (v *valueCodec) EndIfAbandoned() {
	if v.abandoned.Load() {
		runtime.Goexit()
	}
}

// maxRecent is how many of the newest changes keep the decoded value of a packed entry alive.
const maxRecent = 1000

// recentValues keeps the values that were decoded for the newest events of a store that packs, so
// that handlers that follow soon find them decoded. The log holds them, in the entryPair of a
// change, and so drops each once all handlers have passed it; recentValues drops those that are
// older.
type recentValues struct {
	pairs [maxRecent]weak.Pointer[entryPair]
	next  int // index of the oldest
}

// keep keeps the value of a pair's next entry, if it was decoded. The caller holds the writer's
// lock, and has not published the pair, which may be nil.
func (r *recentValues) keep(pair *entryPair) {
	if pair == nil || pair.next.ref == nil {
		return
	}
	handle := packedOf(pair.next.ref).live.Load()
	if handle == nil || handle == &notPacked {
		return
	}
	pair.decoded.Store(handle.object.Value())
	if oldest := r.pairs[r.next].Value(); oldest != nil {
		oldest.decoded.Store(nil)
	}
	r.pairs[r.next] = weak.Make(pair)
	r.next = (r.next + 1) % maxRecent
}
