// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/eventlog"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/scope"
)

// Config configures a Store.
type Config struct {
	// Key returns a value's key. Required.
	Key func(any) (string, error)
	// ItemKeys states that an item's Key equals the Key of its value, so that an entry is looked
	// up without decoding the item.
	ItemKeys bool
	// Identity returns a value's UID and resourceVersion, or empty strings if it has none.
	// Required.
	Identity func(any) (uid, resourceVersion string)
	// Labels returns a value's labels. Required for selecting by labels.
	Labels func(any) map[string]string
	// Decode returns an item's value: decoded, transformed and validated. An error that wraps
	// feed.ErrSkip makes the store ignore the item's state. Required if the store receives items.
	Decode func(feed.Item) (any, error)
	// Transforms, if set, reports whether Decode may change an object's key and index values. Items
	// are then decoded before they are looked up, and ItemKeys and ItemIndexers are ignored.
	// Transforms is called for each item, by several goroutines, and its result must not change
	// once the store receives items.
	Transforms func() bool
	// Filter, if set, reports whether an object is stored. It receives the object as sent by the
	// server, before Decode. An object that no longer passes is removed. It requires ItemKeys.
	Filter func(runtime.Object) bool
	// ScopeOf, if set, states that the store has scopes; see Scope. It has none at first. ScopeOf
	// returns the only one that may hold an object that the program writes, or an error. An empty
	// uid stands for any. It is called under the lock of writers.
	ScopeOf func(namespace, name, uid string) (scope.Scope, error)
	// Now, if set, returns the time. Without it, HasSeenDeletion remembers nothing.
	Now func() time.Time
	// Absent, if set, returns why the store may lack an existing object that has a key, and nil if
	// the object does not exist or the key does not decide it. It is called for keys that are not
	// stored, without a lock of the store.
	Absent func(key string) error
	// Packer, if set, keeps entries as bytes, which are decoded when they are read.
	Packer Packer
	// PointerType, if set, is the pointer type of all values: an entry is then the pointer, without
	// an interface around it. With a Packer, it is that of the packed values: all readers share a
	// decoded one for as long as one references it.
	PointerType reflect.Type
	// Indexers are the initial indexes.
	Indexers map[string]IndexFunc
	// ItemIndexers compute an item's values under some of the Indexers, by name, without its
	// value. They are called where the item would have to be decoded for the index function.
	ItemIndexers map[string]func(feed.Item) ([]string, error)
	// Report receives errors about single objects, each a *feed.EffectError. It is called by
	// several goroutines, including readers of packed entries. A write reports its errors after it
	// has released its locks: Report may read the store and write to it. Required.
	Report func(key string, err error)
	// EmitUnchanged makes a replacement append an update to the log for each object that it
	// leaves unchanged, too. Such an object is decoded and indexed again: Old and New of an
	// update of equal content are the same state.
	EmitUnchanged bool
	// EmitUnstoredDeletions makes Feed.Apply append the deletion of an object that is not stored to
	// the log, as client-go's informers deliver it, unless its absence is explained: Decode ignores
	// the state at deletion, the last state could not be stored, or the collection has reached the
	// version of the deletion before. It requires Log, and has no effect on feeds of scopes.
	EmitUnstoredDeletions bool
	// Log, if set, receives every change. The store is then an informer's: its resourceVersion is
	// moved by a feed only, not by Put, Remove and Replace.
	Log *eventlog.Log[Change]
}

// Change is one event of the log: an addition (Old is nil), an update, or a deletion (New is nil).
// Old and Final are the same in the deletion of an object that was not stored; see
// Config.EmitUnstoredDeletions.
type Change struct {
	Key       string
	Old, New  *Entry
	Final     *Entry // the state at deletion, nil if unknown; Old is then the last known state
	Initial   bool   // part of the first full state, or of the first one of a scope
	LeftScope bool   // of a deletion: the object exists, but its scope was removed, or the feed refused it
}

// Packer packs values into bytes and unpacks them. Its methods must be safe for concurrent use.
type Packer interface {
	// Pack packs an item. old is the packed object that it replaces, or the zero Object. value
	// decodes the item, for a packer that needs the value. An error that wraps pack.ErrUnsupported,
	// after a call of value, makes the store keep the value as it is.
	Pack(item feed.Item, old pack.Object, value func() (any, error)) (pack.Object, error)
	// Unpack returns the value of an object that Pack returned.
	Unpack(object pack.Object) (any, error)
}
