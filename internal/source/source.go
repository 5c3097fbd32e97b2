package source

import (
	"context"

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
	// Streaming says that the functions return what the server sent, unchanged, so that the
	// response may be split instead.
	Streaming bool
	// NoClientRetries says that the functions' client does not repeat a refused request.
	NoClientRetries bool
	// Unnamed says that objects without a name that the client has decoded are items, with the key
	// "namespace/" or "". Otherwise they are refused: an item of a list alone, an event with its watch.
	Unnamed bool
	Codec   codec.Options
}

// Source is a feed.Source that knows how its responses are read.
type Source struct {
	feed.Source
	mode *mode
}

// New returns a source. It makes no request and starts no goroutine.
func New(config Config) Source {
	decoded := decodedSource{config.ListerWatcher, config.Objects, config.Unnamed, &clientRetries{never: config.NoClientRetries}}
	if !config.Streaming || config.Objects.GoType == nil {
		return Source{decoded, &mode{reason: reasonForeignFunctions}}
	}
	mode := &mode{}
	return Source{streamSource{decoded, mode, codec.NewDecoders(config.Objects, config.Codec)}, mode}
}

// Mode reports whether the last response was split while it arrived and, if not, why. The reason
// is empty before the first response.
func (s Source) Mode() (streaming bool, reason string) { return s.mode.get() }
