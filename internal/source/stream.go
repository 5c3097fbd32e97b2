// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/tap"
	"github.com/kinformer/kinformer/internal/wire"
)

// streamSource reads the bytes of a ListerWatcher's responses where the client's transport has the
// tap, and its decoded lists and watch.Interfaces where it has not.
type streamSource struct {
	decoded  decodedSource
	mode     *mode
	decoders *codec.Decoders
	limits   Limits
	readTime time.Duration // see Config.ReadTime
}

var _ feed.Source = streamSource{}

const (
	// acceptProtobuf is requested where the objects can be decoded from protobuf. If the program
	// has asked for streaming, it is requested whatever the client accepts: the client itself
	// decodes nothing but a placeholder.
	acceptProtobuf = "application/vnd.kubernetes.protobuf,application/json"

	jsonType = "application/json"
)

// tap returns a tap for one request. consume reads the body and returns the client's placeholder;
// it keeps an error of the body to itself, so that the client has nothing to report.
func (s streamSource) tap(consume func(format wire.Format, body io.ReadCloser, placeholder wire.Format) []byte) *tap.Tap {
	expected := s.expected()
	t := &tap.Tap{
		Accepts:         s.understands,
		PlaceholderType: placeholderType,
		MaxErrorBody:    int64(expected.HeaderLimit()),
		Consume: func(contentType string, body io.ReadCloser, placeholderType string) ([]byte, error) {
			format, _ := wire.FormatOf(contentType)
			placeholder, _ := wire.FormatOf(placeholderType)
			return consume(format, body, placeholder), nil
		},
	}
	if objects := s.decoded.objects; objects.IsGenerated() && !objects.IsMetadata() {
		t.Accept, t.OnlyAccepted = acceptProtobuf, s.mode.byDefault
	}
	return t
}

// Traits implements feed.Source.
func (s streamSource) Traits() feed.Traits { return s.decoded.Traits() }

// record records the response of a request that ended with err.
func (s streamSource) record(ctx context.Context, response tap.Response, err error) {
	if response.Intercepted {
		s.decoded.traits.isServer()
	}
	s.mode.record(ctx, response, err)
}

// understands reports whether bodies of a Content-Type can be split and their objects decoded.
func (s streamSource) understands(contentType string) bool {
	format, ok := wire.FormatOf(contentType)
	return ok && (format == wire.JSON || s.decoded.objects.IsGenerated())
}

// feedItem returns the feed's form of a split item. How duplicate members are resolved depends on
// the object's type, so the identity of an object with duplicates is read from the decoded object.
// With an error, the item has what is known of the object's identity.
func feedItem(item *wire.Item, codecs *codec.Codecs) (feed.Item, error) {
	metadata, at, err := item.Identify()
	known := feed.Item{Key: metadata.Key, UID: metadata.UID, ResourceVersion: metadata.ResourceVersion}
	if len(known.Key) > maxKey {
		known.Key = ""
	}
	switch {
	case err != nil:
		return known, err
	case item.Kind == "" && codecs.NeedsKind():
		return known, errNoKind
	case metadata.Key == "":
		return known, fmt.Errorf("%s in namespace %s: %w", wire.Quote(item.Kind), wire.Quote(metadata.Namespace), feed.ErrNoName)
	case known.Key == "":
		return known, fmt.Errorf("%s named %s: %w", wire.Quote(item.Kind), wire.Quote(metadata.Key), errLongName)
	}
	out := feed.Item{
		Key:             metadata.Key,
		UID:             metadata.UID,
		ResourceVersion: metadata.ResourceVersion,
		Raw:             item.Raw,
		Codec:           codecs.For(item),
		Layout:          at,
	}
	switch {
	case item.TooLarge != nil: // only this object fails to decode; the stream goes on
		out.Raw, out.Codec = nil, feed.ErrorCodec{Err: item.TooLarge}
	case item.HasDuplicates():
		if obj, err := out.Decoded(); err == nil {
			decoded, err := decodedSource{objects: codecs.Objects().OfKept()}.item(obj)
			decoded.Received = obj
			return decoded, err
		}
	}
	return out, nil
}

// expected returns what a body may consist of.
func (s streamSource) expected() wire.Options {
	objects := s.decoded.objects
	options := wire.Options{SkipOversized: true, MaxItemSize: s.limits.Object, MaxHeaderSize: s.limits.Other}
	switch {
	case !objects.GVK.Empty():
		options.APIVersion, options.Kind = objects.GVK.GroupVersion().String(), objects.GVK.Kind
	case !objects.IsUnstructured(): // the Go types of the API are named like their kinds
		options.Kind = objects.GoType.Elem().Name()
	}
	return options
}

// checkVersion returns an error if a resourceVersion is too long. The reflector decides what
// becomes of one that cannot be compared.
func checkVersion(version string) error {
	if len(version) > maxVersion {
		return fmt.Errorf("%w: %s", feed.ErrNoVersion, wire.Quote(version))
	}
	return nil
}

const (
	// maxVersion is the maximum length of a resourceVersion. Those of API servers have up to 20
	// digits, and those of proxies hold the versions of all their clusters. Requests and Status
	// contain it.
	maxVersion = 4 << 10
	// maxKey is the maximum length of an object's namespace and name. API servers allow 63 and 253
	// bytes. Errors and logs contain it.
	maxKey = 4 << 10
)

// checkRetries warns of a client that repeats requests, unless the request passed through the tap.
func (s streamSource) checkRetries(ctx context.Context, err error, response tap.Response) {
	if !response.Intercepted {
		s.decoded.retries.check(ctx, err)
	}
}

// withRetryAfter adds the Retry-After header, which the tap removes from the client's response, to
// the client's error. The reflector limits it.
func withRetryAfter(err error, response tap.Response) error {
	seconds, invalid := strconv.Atoi(response.RetryAfter)
	var status *apierrors.StatusError
	if invalid != nil || seconds <= 0 || !errors.As(err, &status) {
		return err
	}
	result := status.ErrStatus
	details := metav1.StatusDetails{}
	if result.Details != nil {
		details = *result.Details
	}
	details.RetryAfterSeconds = int32(min(seconds, math.MaxInt32))
	result.Details = &details
	return &apierrors.StatusError{ErrStatus: result}
}
