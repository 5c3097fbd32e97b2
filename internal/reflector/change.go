// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"hash/maphash"
	"math/bits"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// change is an event of a watch in the form that the journal records.
type change struct {
	version  string
	identity uint64 // hash of the event's type, and the object's key, UID and resourceVersion
	content  uint64 // hash of the object, as received
	encoding encoding
}

// encoding is the form in which an object was received.
type encoding uint8

const (
	unknownEncoding encoding = iota
	jsonBytes
	protobufBytes
	decodedObject
)

// hashSeed is the seed of all hashes, which are compared only within this process.
var hashSeed = maphash.MakeSeed() //nolint:gochecknoglobals // a constant of the process

// changeOf returns the change of an event.
func changeOf(eventType watch.EventType, item feed.Item) change {
	identity := maphash.String(hashSeed, string(eventType))
	for _, part := range [...]string{item.Key, item.UID, item.ResourceVersion} {
		identity = mix(identity, maphash.String(hashSeed, part))
	}
	c := change{version: item.ResourceVersion, identity: identity}
	switch {
	case len(item.Raw) > 0:
		if c.encoding = protobufBytes; item.Raw[0] == '{' { // which begins no protobuf message
			c.encoding = jsonBytes
		}
		c.content = maphash.Bytes(hashSeed, item.Raw)
	case item.Received != nil:
		if object, err := meta.Accessor(item.Received); err == nil {
			c.encoding, c.content = decodedObject, hashOfWrite(object)
		}
	}
	return c
}

// mix combines two hashes. The result depends on their order.
func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xe7037ed1a0b428db)
	return high ^ low ^ bits.RotateLeft64(a, 23)
}

// hashOfWrite returns a hash of the metadata in which two writes with the same resourceVersion
// differ: the managers and times of managedFields, generation, labels, annotations, finalizers and
// deletionTimestamp. It takes much less time than a hash of the whole object.
func hashOfWrite(object metav1.Object) uint64 {
	h := uint64(object.GetGeneration())
	if deleted := object.GetDeletionTimestamp(); deleted != nil {
		h = mix(h, uint64(deleted.Unix()))
	}
	h = mix(mix(h, hashOfMap(object.GetLabels())), hashOfMap(object.GetAnnotations()))
	for _, finalizer := range object.GetFinalizers() {
		h = mix(h, maphash.String(hashSeed, finalizer))
	}
	if dynamic, ok := object.(*unstructured.Unstructured); ok {
		return mix(h, hashOfManagers(dynamic))
	}
	for _, field := range object.GetManagedFields() {
		h = mix(h, hashOfManager(field.Manager, string(field.Operation), unixTime(field.Time)))
	}
	return h
}

// hashOfMap returns a hash of a map, whose order of iteration is random.
func hashOfMap(values map[string]string) (h uint64) {
	for key, value := range values {
		h += mix(maphash.String(hashSeed, key), maphash.String(hashSeed, value))
	}
	return h
}

// hashOfManagers returns a hash of the managedFields of an unstructured object. It does not call
// GetManagedFields, which would convert all of them to structs.
func hashOfManagers(object *unstructured.Unstructured) (h uint64) {
	metadata, _ := object.Object["metadata"].(map[string]any)
	fields, _ := metadata["managedFields"].([]any)
	for _, field := range fields {
		field, _ := field.(map[string]any)
		manager, _ := field["manager"].(string)
		operation, _ := field["operation"].(string)
		at, _ := field["time"].(string)
		h = mix(h, hashOfManager(manager, operation, maphash.String(hashSeed, at)))
	}
	return h
}

func hashOfManager(manager, operation string, at uint64) uint64 {
	return mix(mix(maphash.String(hashSeed, manager), maphash.String(hashSeed, operation)), at)
}

func unixTime(t *metav1.Time) uint64 {
	if t == nil {
		return 0
	}
	return uint64(t.Time.Truncate(time.Second).Unix())
}
