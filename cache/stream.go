package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/tap"
	"github.com/kinformer/kinformer/internal/wire"
)

// EnableStreaming lets informers read lists and watches straight from the stream,
// for every client that is made of config afterwards:
//
//	config, err := rest.InClusterConfig()
//	cache.EnableStreaming(config)
//	clientset, err := kubernetes.NewForConfig(config)
//
// Requests of informers then have their answers cut into objects as they arrive;
// a whole list is never in memory. All other requests are untouched, and
// authentication, TLS, proxies, timeouts and rate limits are the client's as ever.
// Where an answer cannot be cut (CBOR, a transport of one's own in between), the
// informer takes it as the client decodes it; [Controller.Status] says which.
func EnableStreaming(config *rest.Config) { config.Wrap(tap.Wrap) }

// streamSource feeds from the bytes of a ListerWatcher's answers, where its
// client has the tap, and from its lists and watch.Interfaces where it has not.
type streamSource struct {
	classic classicSource
	way     *way
}

var _ feed.Source = streamSource{}

const (
	// acceptProtobuf is asked for where the objects' type can be decoded from
	// protobuf, whatever the client was configured for: nothing but a stand-in
	// goes back to it.
	acceptProtobuf = "application/vnd.kubernetes.protobuf,application/json"

	jsonType = "application/json"
)

// tap returns a tap for a request. consume reads the body and returns the client's
// stand-in for it; what goes wrong with the body it keeps for itself, so that the
// client has nothing to complain about.
func (s streamSource) tap(consume func(format wire.Format, body io.Reader) []byte) *tap.Tap {
	t := &tap.Tap{
		Wants:       s.understands,
		StandInType: jsonType,
		Consume: func(contentType string, body io.Reader) ([]byte, error) {
			format, _ := wire.Known(contentType)
			return consume(format, body), nil
		},
	}
	if k := s.classic.kind; k.isGenerated() && !k.isMetadata() {
		t.Accept = acceptProtobuf
	}
	return t
}

// understands tells whether bodies of a Content-Type can be cut and their objects
// decoded.
func (s streamSource) understands(contentType string) bool {
	format, ok := wire.Known(contentType)
	return ok && (format == wire.JSON || s.classic.kind.isGenerated())
}

// List makes one list request.
func (s streamSource) List(ctx context.Context, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	var header wire.ListHeader
	var broken error
	gate, codecs := newGate(), s.codecs(false)
	t := s.tap(func(format wire.Format, body io.Reader) []byte {
		read, err := wire.List(body, format, s.expected(), func(item *wire.Item) error {
			return gate.push(func() error { return pushItem(item, codecs, add) })
		})
		_ = gate.push(func() error {
			header, broken = read, err
			return nil
		})
		return standIn(read)
	})
	gate.open()
	list, err := s.classic.request(tap.With(ctx, t), options)
	gate.close()
	answer := t.Answer()
	s.way.took(ctx, answer)
	switch {
	case broken != nil:
		return metav1.ListMeta{}, broken
	case err != nil:
		return metav1.ListMeta{}, withRetryAfter(err, answer)
	case answer.Taken:
		return header.Meta, nil
	case isStandIn(list):
		return metav1.ListMeta{}, errStandIn
	}
	return s.classic.addAll(list, add)
}

// pushItem passes an item of a list on.
func pushItem(item *wire.Item, codecs *codecs, add func(feed.Item) error) error {
	pushed, err := feedItem(item, codecs)
	if err != nil {
		return fmt.Errorf("item %d of the list: %w", item.Index, err)
	}
	return add(pushed)
}

// feedItem makes an item of what was cut.
func feedItem(item *wire.Item, codecs *codecs) (feed.Item, error) {
	metadata, err := item.Meta()
	switch {
	case err != nil:
		return feed.Item{}, err
	case metadata.Key == "":
		return feed.Item{}, fmt.Errorf("%s in namespace %q: metadata.name is empty", item.Kind, metadata.Namespace)
	}
	return feed.Item{
		Key:             metadata.Key,
		UID:             metadata.UID,
		ResourceVersion: metadata.ResourceVersion,
		Raw:             item.Raw,
		Codec:           codecs.of(item),
	}, nil
}

// Watch makes one watch request.
func (s streamSource) Watch(ctx context.Context, options metav1.ListOptions, events feed.WatchSink) error {
	var ended error
	gate, codecs := newGate(), s.codecs(true)
	t := s.tap(func(format wire.Format, body io.Reader) []byte {
		err := wire.Watch(body, format, s.expected(), func(event *wire.Event) error {
			return gate.push(func() error { return pushEvent(event, codecs, events) })
		})
		_ = gate.push(func() error {
			ended = err
			return nil
		})
		return nil
	})
	stream, err := s.classic.open(tap.With(ctx, t), options)
	answer := t.Answer()
	s.way.took(ctx, answer)
	if err != nil {
		gate.open()
		gate.close()
		return withRetryAfter(err, answer)
	}
	if !answer.Taken {
		return s.classic.follow(ctx, stream, events)
	}
	events.Opened()
	gate.open()
	drain(ctx, stream)
	stopWatch(stream)
	gate.close()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return ended
}

// pushEvent passes an event of a watch on.
func pushEvent(event *wire.Event, codecs *codecs, events feed.WatchSink) error {
	switch event.Type {
	case watch.Error:
		return event.Err()
	case watch.Bookmark:
		version, end, err := event.Bookmark()
		if err != nil {
			return err
		}
		return events.Bookmark(version, end)
	default:
		item, err := feedItem(&event.Object, codecs)
		if err != nil {
			return fmt.Errorf("%s event: %w", event.Type, err)
		}
		return events.Event(event.Type, item)
	}
}

// drain waits until a stream is closed or ctx ends. What comes of the stream is
// nothing: its events go another way.
func drain(ctx context.Context, stream watch.Interface) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-stream.ResultChan():
			if !ok {
				return
			}
		}
	}
}

// expected is what bodies may consist of.
func (s streamSource) expected() wire.Options {
	k := s.classic.kind
	if k.gvk.Empty() && carriesKind(k.goType) {
		return wire.Options{}
	}
	if k.gvk.Empty() { // the names of API types are those of their kinds
		return wire.Options{Kind: k.goType.Elem().Name()}
	}
	return wire.Options{APIVersion: k.gvk.GroupVersion().String(), Kind: k.gvk.Kind}
}

// withRetryAfter puts what the tap has kept from the client into its error.
func withRetryAfter(err error, answer tap.Answer) error {
	seconds, bad := strconv.Atoi(answer.RetryAfter)
	var status *apierrors.StatusError
	if bad != nil || seconds <= 0 || !errors.As(err, &status) {
		return err
	}
	told := status.ErrStatus
	details := metav1.StatusDetails{}
	if told.Details != nil {
		details = *told.Details
	}
	details.RetryAfterSeconds = int32(min(seconds, maxRetryAfterSeconds))
	told.Details = &details
	return &apierrors.StatusError{ErrStatus: told}
}

const maxRetryAfterSeconds = 24 * 60 * 60

// standInLink marks a stand-in, in a field that servers stopped setting.
const standInLink = "kinformer.invalid/stand-in"

// standIn returns the list that a client is given to read instead of the one that
// was cut: no items, and marked, so that nobody takes it for an empty collection.
func standIn(header wire.ListHeader) []byte {
	header.Meta.SelfLink = standInLink
	if header.Kind == "" { // the list broke before it said; the client's error is not looked at
		header.APIVersion, header.Kind = "v1", "List"
	}
	body, err := header.Empty(wire.JSON)
	if err != nil {
		return nil
	}
	return body
}

// isStandIn tells whether a list is a stand-in: one that this request did not
// make, and so must come from a cache that kept another request's answer.
func isStandIn(list any) bool {
	accessor, err := meta.ListAccessor(list)
	return err == nil && accessor.GetSelfLink() == standInLink
}

var errStandIn = errors.New("a transport between client and server answered a list from its cache: put it below EnableStreaming, or let it heed Cache-Control: no-store")
