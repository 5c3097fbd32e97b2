// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/fields"
	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/source"
	"github.com/kinformer/kinformer/internal/store"
)

// Limits bound the size of objects and responses, in bytes. Zero or less selects the default.
type Limits struct {
	Object, Other, InFlight, Decoded int
}

// Collection specifies a collection of the API and how it is requested. Informers and reflectors
// have it in common.
type Collection struct {
	// Source describes the objects and the client. The engine sets Codec and Limits.
	Source source.Config
	// Reflector says when to list and to watch. The engine sets Source, Sink, InFlight and
	// Overlaps.
	Reflector  reflector.Config
	Limits     Limits
	ShareEqual bool // see codec.Options
	// OnlyStreamsOverlap says that a resumed watch may start before the last changes received only
	// while the source streams; see reflector.Config.Overlaps.
	OnlyStreamsOverlap bool
	// Wrap, if set, returns the source that the reflector gets in place of its argument.
	Wrap func(feed.Source) feed.Source
}

// NewReflector returns a reflector that writes to sink, and its source.
func NewReflector(collection Collection, sink feed.Sink) (*reflector.Reflector, source.Source) {
	config, items := collection.connect(codec.Options{ShareEqual: collection.ShareEqual})
	config.Sink = sink
	return reflector.New(config), items
}

// connect returns the configuration of a reflector without its sink, and its source.
func (c Collection) connect(decoding codec.Options) (reflector.Config, source.Source) {
	from := c.Source
	from.Codec = decoding
	from.Limits = source.Limits{Object: c.Limits.Object, Other: c.Limits.Other, Decoded: c.Limits.Decoded}
	items := source.New(from)
	config := c.Reflector
	config.Source, config.InFlight = items, c.Limits.InFlight
	if c.OnlyStreamsOverlap {
		config.Overlaps = items.Streams
	}
	if c.Wrap != nil {
		config.Source = c.Wrap(items)
	}
	return config, items
}

// Spec specifies an informer.
type Spec struct {
	Collection
	// Informer has the name, the clock, the store's key, identity and index functions, and what
	// concerns the store or the delivery alone. The engine sets Reflector and NotFound, Decode of
	// the store, and its Packer and PointerType if it packs.
	Informer informer.Config
	// OmitFields are the paths of the fields that objects lack. NeverWritten allows fields whose
	// omission is unsafe for programs that write objects back; see fields.Omit.
	OmitFields   []string
	NeverWritten bool
	Packed       bool // if the type of the objects is known
	// Decode returns an item's object. It is an error if the store does not pack, has a
	// PointerType, and the object is of another type. Required.
	Decode func(feed.Item) (any, error)
	// Transform, if set, returns the value to store under a key for an object. It is called while
	// Transforms of the store reports true or, without Transforms, always: then the result must
	// have the same key.
	Transform func(key string, obj any) (any, error)
	// Track, if set, receives each value before any reader can get it.
	Track func(key string, value any)
}

// Engine is an informer, its source, and the fields that it omits.
type Engine struct {
	*informer.Informer

	Source  source.Source
	Omitted *fields.Omitted // nil if there are none
}

// New returns an informer that is not running. It makes no request and starts no goroutine. It
// returns an error if OmitFields are invalid: the informer must not be run then.
func New(spec Spec) (*Engine, error) {
	omitted, err := spec.Source.Objects.Omit(spec.OmitFields, spec.NeverWritten)
	decoding := codec.Options{ShareEqual: spec.ShareEqual, Packed: spec.Packed, Omit: omitted, Timing: new(codec.Timing)}
	config := spec.Informer
	config.Store = spec.StoreConfig(decoding)
	config.NotFound = omitted.NotFound
	requests, items := spec.connect(decoding)
	config.Reflector = requests
	return &Engine{informer.New(config), items, omitted}, err
}

// StoreConfig returns the configuration of the store.
func (s Spec) StoreConfig(decoding codec.Options) store.Config {
	config, objects := s.Informer.Store, s.Source.Objects
	transforms := config.Transforms
	if transforms == nil {
		transforms = func() bool { return s.Transform != nil }
		if s.Transform != nil { // which may change the metadata
			config.ItemIndexers = nil
		}
	}
	config.Decode = s.decoder(transforms)
	if s.Packed && objects.GoType != nil {
		config.Packer = codec.NewPacker(objects, decoding, transforms)
		config.PointerType = objects.KeptType()
	}
	return config
}

func (s Spec) decoder(transforms func() bool) func(feed.Item) (any, error) {
	decode, transform, track := s.Decode, s.Transform, s.Track
	return func(item feed.Item) (any, error) {
		value, err := decode(item)
		if err == nil && transforms() {
			value, err = feed.CatchPanic(func() (any, error) { return transform(item.Key, value) })
			if err == nil && codec.IsNil(value) {
				err = errors.New("the result is nil")
			}
			if err != nil {
				err = fmt.Errorf("transform: %w", err)
			}
		}
		if err == nil && track != nil {
			track(item.Key, value)
		}
		return value, err
	}
}
