// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
)

// ListerWatcher lists and watches a collection of the API.
type ListerWatcher interface {
	List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// Config is what a source is made of.
type Config struct {
	ListerWatcher ListerWatcher
	Objects       codec.ObjectType
	Streaming     Streaming
	// NoContext says that the functions cannot pass their context on, so that a tap has no effect.
	NoContext bool
	// NoTap is why the client's transport has no tap, if that is known.
	NoTap string
	// ReadTime, if not zero, is how long the response to a list is read no faster than its objects
	// are decoded and stored. The rest is then read into memory at once, since servers and clients
	// bound the time that a response takes.
	ReadTime time.Duration
	// NoClientRetries says that the functions' client does not repeat a refused request.
	NoClientRetries bool
	// Unnamed says that objects without a name that the client has decoded are items, with the key
	// "namespace/" or "". Otherwise they are refused: an item of a list alone, an event with its
	// watch.
	Unnamed bool
	// Fake says that the ListerWatcher declares itself a fake. See feed.Traits.
	Fake   bool
	Codec  codec.Options
	Limits Limits
}

// Limits bound the parts of a response that is split, in bytes. Zero or less selects the default of
// package wire.
type Limits struct {
	Object int // of an object and of a watch event
	Other  int // of any other part, and of the body of an error response
	// Decoded is the memory that decoding one object allocates. Zero or less selects the default of
	// package codec.
	Decoded int
}

// Streaming is what is known of the ListerWatcher's functions: if they return what the server sent,
// unchanged, the response may be split instead.
type Streaming int

// The values of Streaming. A warning is logged once if a response is not split although the program
// has asked for it.
const (
	// Unknown functions may change the response. The program has asked for streaming if the
	// client's transport has the tap.
	Unknown Streaming = iota
	// Unchanged responses are split if the client's transport has the tap.
	Unchanged
	// ByDefault is Unchanged, and the program has not asked for streaming. If a list cannot be
	// split, it is requested again, and the client decodes it. If that succeeds, the client decodes
	// all later ones.
	ByDefault
	// Requested is Unchanged, and the program has asked for streaming.
	Requested
	// Disabled responses are not split, as the program has asked for.
	Disabled
)

// Source is a feed.Source that knows how its responses are read.
type Source struct {
	feed.Source
	mode    *mode
	traffic *traffic
	timing  *codec.Timing
}

// New returns a source. It makes no request and starts no goroutine.
func New(config Config) Source {
	if config.Codec.Timing == nil {
		config.Codec.Timing = new(codec.Timing)
	}
	config.Codec.Decoded = codec.NewDecodedLimit(config.Limits.Decoded)
	s := Source{
		mode:    &mode{requested: config.Streaming == Requested, byDefault: config.Streaming == ByDefault, noContext: config.NoContext, noTap: config.NoTap},
		traffic: new(traffic),
		timing:  config.Codec.Timing,
	}
	known := &traits{declared: config.Fake}
	decoded := decodedSource{
		traffic: s.traffic,
		lw:      config.ListerWatcher,
		objects: config.Objects,
		unnamed: config.Unnamed,
		omit:    config.Codec.Omit,
		retries: &clientRetries{never: config.NoClientRetries, traits: known},
		traits:  known,
	}
	switch {
	case config.Streaming == Disabled:
		s.mode.reason = reasonDisabled
		s.Source = decoded
	case config.Streaming == Unknown || config.Objects.GoType == nil:
		s.mode.reason = reasonUnknownFunctions
		if config.Objects.GoType == nil {
			s.mode.reason = reasonNoType
		}
		decoded.lw = tapDetector{config.ListerWatcher, s.mode, decoded.traits}
		s.Source = decoded
	default:
		stream := streamSource{decoded: decoded, mode: s.mode, decoders: codec.NewDecoders(config.Objects, config.Codec), limits: config.Limits, readTime: config.ReadTime}
		s.Source = stream
	}
	return s
}

// Status returns what the source has counted so far.
func (s Source) Status() feed.RequestStatus {
	status := feed.RequestStatus{Results: s.traffic.counted(), BytesRead: s.traffic.bytes.Load()}
	status.Streaming, status.NotStreamingReason = s.mode.get()
	status.Decoded, status.DecodeTime = s.timing.Total()
	return status
}

// Streams reports whether the last response that could be read was split while it arrived.
func (s Source) Streams() bool { return s.mode.streams() }
