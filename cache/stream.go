package cache

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
// Objects are what the client would have decoded; where their type has a protobuf
// form they come in it, as to a client that is configured for it.
// Where an answer cannot be cut (CBOR, a transport of one's own in between), the
// informer takes it as the client decodes it; [Controller.Status] says which.
func EnableStreaming(config *rest.Config) { config.Wrap(tap.Wrap) }

// streamSource feeds from the bytes of a ListerWatcher's answers, where its
// client has the tap, and from its lists and watch.Interfaces where it has not.
type streamSource struct {
	classic classicSource
	way     *way
	sharing *sharing
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
		Accepts:       s.understands,
		PlaceholderType: jsonType,
		Consume: func(contentType string, body io.Reader) ([]byte, error) {
			format, _ := wire.FormatOf(contentType)
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
	format, ok := wire.FormatOf(contentType)
	return ok && (format == wire.JSON || s.classic.kind.isGenerated())
}

// feedItem makes an item of what was cut.
func feedItem(item *wire.Item, codecs *codecs) (feed.Item, error) {
	metadata, err := item.Meta()
	switch {
	case err != nil:
		return feed.Item{}, err
	case item.Kind == "" && codecs.needsKind():
		return feed.Item{}, errNoKind
	case metadata.Key == "":
		return feed.Item{}, fmt.Errorf("%s in namespace %q: metadata.name is empty", item.Kind, metadata.Namespace)
	}
	if codecs.kind.packed { // or the key would keep UID and version, which are one string with it
		metadata.Key = strings.Clone(metadata.Key)
	}
	out := feed.Item{
		Key:             metadata.Key,
		UID:             metadata.UID,
		ResourceVersion: metadata.ResourceVersion,
		Raw:             item.Raw,
		Codec:           codecs.of(item),
	}
	if item.TooLarge != nil {
		out.Raw, out.Codec = nil, noCodec{item.TooLarge}
	}
	return out, nil
}

// noCodec is that of an object which cannot be had: who wants to decode it hears why,
// keeps its last good state, and the stream goes on.
type noCodec struct{ err error }

func (c noCodec) Decode([]byte) (runtime.Object, error) { return nil, c.err }

// expected is what bodies may consist of.
func (s streamSource) expected() wire.Options {
	k := s.classic.kind
	options := wire.Options{SkipOversized: true}
	switch {
	case !k.gvk.Empty():
		options.APIVersion, options.Kind = k.gvk.GroupVersion().String(), k.gvk.Kind
	case !carriesKind(k.goType): // the names of API types are those of their kinds
		options.Kind = k.goType.Elem().Name()
	}
	return options
}

// withRetryAfter puts what the tap has kept from the client into its error.
func withRetryAfter(err error, answer tap.Response) error {
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
