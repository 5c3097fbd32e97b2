// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"math/bits"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/layout"
	"github.com/kinformer/kinformer/internal/protowire"
)

// Stamp identifies a write: it is a hash of what a write sets in an object's metadata, and no
// server changes when it reads the object in another version or adds a default. That is
// deletionTimestamp, generation, managedFields with managers, operations, times and fields, and
// spec.nodeName, since a binding changes nothing else.
//
// An object without a time in managedFields, as of some aggregated servers, has a stamp of its
// contents without apiVersion and kind, which the items of a list may lack. The zero Stamp is
// unknown. Stamps are valid within the process.
type Stamp struct {
	sum  uint64
	form form
}

// form is what a stamp was computed of. Stamps of two forms cannot be compared.
type form uint8

const (
	unknownForm form = iota
	jsonWrite
	jsonContents
	protobufWrite
	protobufContents
	decodedWrite
	decodedContents
)

// IsOfWrite reports whether a stamp identifies a write, and not contents.
func (s Stamp) IsOfWrite() bool {
	return s.form == jsonWrite || s.form == protobufWrite || s.form == decodedWrite
}

// StampOf returns the stamp of an item as it was received: neither its bytes nor its Received
// object have been edited.
func StampOf(item feed.Item) Stamp {
	switch {
	case len(item.Raw) > 0 && !item.Layout.Fits(item.Raw):
		return Stamp{}
	case len(item.Raw) > 0 && item.Raw[0] == '{': // which begins no protobuf message
		return ofJSON(item)
	case len(item.Raw) > 0:
		return ofProtobuf(item)
	case item.Received != nil:
		return ofReceived(item.Received)
	}
	return Stamp{}
}

// ofReceived returns the stamp of an object that the client has decoded.
func ofReceived(received runtime.Object) Stamp {
	object, err := meta.Accessor(received)
	if err != nil {
		return Stamp{}
	}
	if sum, ok := sumOfWrite(object); ok {
		return Stamp{sum, decodedWrite}
	}
	contents, err := json.Marshal(withoutKind(received))
	if err != nil {
		return Stamp{}
	}
	return Stamp{maphash.Bytes(seed, contents), decodedContents}
}

// seed is the seed of all hashes.
var seed = maphash.MakeSeed() //nolint:gochecknoglobals // a constant of the process

// mix combines two hashes. The result depends on their order.
func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xe7037ed1a0b428db)
	return high ^ low ^ bits.RotateLeft64(a, 23)
}

const (
	managedFieldsKey rareKey = `"managedFields":[`
	nodeNameKey      rareKey = `"nodeName":"`
	timeKey          rareKey = `"time":"2006-01-02T15:04:05Z"`
)

// rareKey is a part of JSON that is found by its last capital letter, which is rare in objects: to
// look for quotes takes tenfold.
type rareKey string

// index returns the index of the first place in text where the key is, or would be if its digits
// were others, or -1.
func (k rareKey) index(text []byte) int {
	rare := strings.LastIndexFunc(string(k), unicode.IsUpper)
	for i := rare; i < len(text); i++ {
		next := bytes.IndexByte(text[i:], k[rare])
		if next < 0 {
			return -1
		}
		i += next
		if begin := i - rare; begin+len(k) <= len(text) && k.matches(text[begin:]) {
			return begin
		}
	}
	return -1
}

func (k rareKey) matches(text []byte) bool {
	for i := range len(k) {
		if c := k[i]; c != text[i] && (c < '0' || c > '9' || text[i] < '0' || text[i] > '9') {
			return false
		}
	}
	return true
}

// ofJSON reads the metadata as servers write it, without white space. A name with its quotes and
// its colon occurs in no string, in which quotes are escaped. Servers write generation and
// deletionTimestamp before managedFields, and behind it at most what has one value for a version of
// an object: its name, namespace, UID, version and owners.
func ofJSON(item feed.Item) Stamp {
	metadata := item.Layout.Metadata.Of(item.Raw)
	begin := managedFieldsKey.index(metadata)
	if begin < 0 || timeKey.index(metadata[begin:]) < 0 {
		return Stamp{contentsOfJSON(item), jsonContents}
	}
	sum := maphash.Bytes(seed, metadata[begin:])
	sum = mix(sum, maphash.Bytes(seed, valueAfter(metadata[:begin], `"generation":`)))
	sum = mix(sum, maphash.Bytes(seed, valueAfter(metadata[:begin], `"deletionTimestamp":"`)))
	spec := item.Raw[item.Layout.Metadata.End:] // servers write metadata before spec
	if at := nodeNameKey.index(spec); at >= 0 {
		sum = mix(sum, maphash.Bytes(seed, valueAfter(spec[at:], string(nodeNameKey))))
	}
	return Stamp{sum, jsonWrite}
}

// valueAfter returns the string or number after the first occurrence of key, or nil.
func valueAfter(text []byte, key string) []byte {
	_, rest, found := bytes.Cut(text, []byte(key))
	if !found {
		return nil
	}
	if end := bytes.IndexAny(rest, `",}`); end >= 0 {
		rest = rest[:end]
	}
	return rest
}

// contentsOfJSON returns a hash of the members of an object but apiVersion and kind.
func contentsOfJSON(item feed.Item) uint64 {
	first, second := member(item.Raw, `"apiVersion":`, item.Layout.APIVersion), member(item.Raw, `"kind":`, item.Layout.Kind)
	if second.Start < first.Start {
		first, second = second, first
	}
	var hash maphash.Hash
	hash.SetSeed(seed)
	for _, others := range [][]byte{
		item.Raw[1:max(1, first.Start)], item.Raw[max(1, first.End):max(1, second.Start)], item.Raw[max(1, second.End) : len(item.Raw)-1],
	} {
		if others = bytes.Trim(others, ","); len(others) > 0 {
			_ = hash.WriteByte(',')
			_, _ = hash.Write(others)
		}
	}
	return hash.Sum64()
}

// member returns the place of a member with its name, zero if the object lacks it or has white
// space around the name.
func member(object []byte, name string, value layout.Span) layout.Span {
	from := value.Start - int32(len(name))
	if from < 1 || string(object[from:value.Start]) != name {
		return layout.Span{}
	}
	return layout.Span{Start: from, End: value.End}
}

// Numbers of protobuf's fields.
const (
	specField     = 2 // of an object
	nodeNameField = 10

	generationField        = 7 // of ObjectMeta
	deletionTimestampField = 9
	managedFieldsField     = 17

	timeField = 4 // of ManagedFieldsEntry
)

// ofProtobuf reads the metadata. Servers encode managedFields in their order, and apiVersion and
// kind beside the object.
func ofProtobuf(item feed.Item) Stamp {
	var sum uint64
	hasTime := false
	ok := fields(item.Layout.Metadata.Of(item.Raw), func(field int32, value []byte) {
		switch field {
		case managedFieldsField:
			hasTime = hasTime || hasField(value, timeField)
		case generationField, deletionTimestampField:
		default:
			return
		}
		sum = mix(mix(sum, uint64(field)), maphash.Bytes(seed, value))
	})
	if !ok || !hasTime {
		return Stamp{maphash.Bytes(seed, item.Raw), protobufContents}
	}
	fields(item.Raw, func(field int32, spec []byte) {
		if field == specField {
			fields(spec, func(field int32, value []byte) {
				if field == nodeNameField && isName(value) {
					sum = mix(sum, maphash.Bytes(seed, value))
				}
			})
		}
	})
	return Stamp{sum, protobufWrite}
}

// isName reports whether a value is a name of an object. The field of a Pod's nodeName is another
// one in other kinds, which may have a default.
func isName(value []byte) bool {
	for _, c := range value {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return false
		}
	}
	return len(value) > 0
}

func hasField(message []byte, number int32) (found bool) {
	fields(message, func(field int32, _ []byte) { found = found || field == number })
	return found
}

// fields calls f with each field of a message, and the bytes of its value. It returns false if the
// message is malformed.
func fields(message []byte, f func(field int32, value []byte)) (ok bool) {
	for i := 0; i < len(message); {
		tag, next, err := protowire.Varint(message, i)
		if err != nil {
			return false
		}
		field, wire, err := protowire.SplitTag(tag)
		if err != nil {
			return false
		}
		from := next
		if wire == protowire.TypeBytes {
			from, i, err = protowire.Bounds(message, next)
		} else {
			i, err = protowire.Skip(message, next, wire)
		}
		if err != nil {
			return false
		}
		f(field, message[from:i])
	}
	return true
}

// sumOfWrite returns a hash of what a write has set in a decoded object. ok is false if
// managedFields has no time.
func sumOfWrite(object metav1.Object) (sum uint64, ok bool) {
	sum = uint64(object.GetGeneration())
	if deleted := object.GetDeletionTimestamp(); deleted != nil {
		sum = mix(sum, uint64(deleted.Unix()))
	}
	dynamic, isDynamic := object.(*unstructured.Unstructured)
	sum = mix(sum, maphash.String(seed, nodeName(object)))
	managers, hasTime := uint64(0), false
	if isDynamic {
		managers, hasTime = hashOfManagers(dynamic)
	} else {
		for _, field := range object.GetManagedFields() {
			managers = mix(managers, hashOfEntry(field))
			hasTime = hasTime || field.Time != nil
		}
	}
	return mix(sum, managers), hasTime
}

// nodeName returns spec.nodeName of a Pod, and of an object that is not of a Go type.
func nodeName(object metav1.Object) (name string) {
	switch object := object.(type) {
	case *corev1.Pod:
		name = object.Spec.NodeName
	case *unstructured.Unstructured:
		name, _, _ = unstructured.NestedString(object.Object, "spec", "nodeName")
	}
	return name
}

func hashOfEntry(entry metav1.ManagedFieldsEntry) uint64 {
	sum := mix(maphash.String(seed, entry.Manager), maphash.String(seed, string(entry.Operation)))
	sum = mix(sum, maphash.String(seed, entry.Subresource))
	if entry.Time != nil {
		sum = mix(sum, uint64(entry.Time.Unix()))
	}
	if entry.FieldsV1 != nil {
		sum = mix(sum, maphash.Bytes(seed, entry.FieldsV1.GetRawBytes()))
	}
	return sum
}

// hashOfManagers returns a hash of the managedFields of an unstructured object, and whether one of
// them has a time. It does not call GetManagedFields, which would convert all of them to structs.
func hashOfManagers(object *unstructured.Unstructured) (sum uint64, hasTime bool) {
	metadata, _ := object.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, entry := range entries {
		entry, _ := entry.(map[string]any)
		for _, name := range [...]string{"manager", "operation", "subresource", "time"} {
			value, _ := entry[name].(string)
			sum = mix(sum, maphash.String(seed, value))
			hasTime = hasTime || name == "time" && value != ""
		}
		sum = mix(sum, hashOfFields(entry["fieldsV1"]))
	}
	return sum, hasTime
}

// hashOfFields returns a hash of fieldsV1, whose members are objects in random order.
func hashOfFields(value any) (sum uint64) {
	members, _ := value.(map[string]any)
	for name, member := range members {
		sum += mix(maphash.String(seed, name), hashOfFields(member))
	}
	return sum
}
