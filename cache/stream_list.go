package cache

import (
	"context"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/tap"
	"github.com/kinformer/kinformer/internal/wire"
)

// List makes one list request.
func (s streamSource) List(ctx context.Context, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	if s.way.hasGivenUp() {
		return s.classic.List(ctx, options, add)
	}
	l := &listing{source: s, codecs: s.codecs(false), add: add}
	t := s.tap(l.consume)
	list, err := s.classic.request(tap.With(ctx, t), options)
	l.close()
	answer := t.Finish()
	if err == nil && !answer.Consumed && isStandIn(list) {
		err = errStandIn
	}
	s.way.took(ctx, answer, err)
	if why := s.hopeless(l, list); why != "" {
		s.way.giveUp(ctx, why)
	}
	switch {
	case l.read: // what the client made of the stand-in is of no interest
		return l.header.Meta, l.broken
	case err != nil:
		return metav1.ListMeta{}, withRetryAfter(err, answer)
	case answer.Consumed:
		return metav1.ListMeta{}, errNotRead
	}
	return s.classic.addAll(list, add)
}

// hopeless returns why no list of this collection can be cut, if that is why this
// one could not. list is what the client made of the stand-in.
func (s streamSource) hopeless(l *listing, list runtime.Object) string {
	switch {
	case errors.Is(l.broken, errNoKind):
		return whyNoKind
	case !errors.Is(l.broken, wire.ErrWrongKind) || l.header.Kind == s.expected().Kind+"List" || !isStandIn(list):
		return ""
	}
	if _, err := s.classic.checkList(list); err != nil {
		return ""
	}
	return whyNoName // for the client knows it as a list of that type
}

var (
	// errNotRead is a list that the client threw away.
	errNotRead = errors.New("the client did not read the server's answer")
	// errNoKind is an unstructured object of unknown kind.
	errNoKind = errors.New("neither the object nor what precedes it in the list says its kind")
)

// listing is one list request. The client's goroutine feeds it, and may go on
// after whoever lists has given up.
type listing struct {
	gate
	source streamSource
	codecs *codecs
	add    func(feed.Item) error

	read   bool // to the end, or to where it broke; what follows is set then
	header wire.ListHeader
	broken error
}

// consume reads the body and returns the stand-in for it.
func (l *listing) consume(format wire.Format, body io.Reader) []byte {
	header, err := wire.List(body, format, l.source.expected(), l.item)
	_ = l.push(func() error {
		l.read, l.header, l.broken = true, header, err
		return nil
	})
	return standIn(header)
}

// item passes an item on.
func (l *listing) item(cut *wire.Item) error {
	return l.push(func() error {
		item, err := feedItem(cut, l.codecs)
		if err != nil {
			return fmt.Errorf("item %d of the list: %w", cut.Index, err)
		}
		return l.add(item)
	})
}
