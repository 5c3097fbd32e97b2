// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/tap"
	"github.com/kinformer/kinformer/internal/wire"
)

// List makes one list request. Where the response can be split, wire.List passes each item on as it
// arrives; otherwise the items are those of the list that the client decoded.
func (s streamSource) List(ctx context.Context, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	if s.mode.isDisabled() {
		return s.decoded.List(ctx, options, add)
	}
	if trial := s.mode.currentTrial(); trial != "" {
		return s.tryDecoded(ctx, trial, options, add)
	}
	request := &listRequest{source: s, isPage: options.Continue != "", codecs: s.decoders.ForList(), add: add, logger: klog.FromContext(ctx)}
	t := s.tap(request.consume)
	list, err := s.decoded.request(tap.With(ctx, t), options)
	request.close()
	response := t.Finish()
	err = s.decoded.objects.WithoutValues(err)
	if err == nil && !response.Consumed && isPlaceholder(list) {
		err = errCachedPlaceholder
	}
	s.record(ctx, response, err)
	s.decoded.traffic.record(verbList, response, err)
	disabled := s.reasonToDisable(request, list)
	if disabled != "" {
		s.mode.disable(klog.FromContext(ctx), disabled)
	}
	switch {
	case disabled != "" || request.notSplit && s.mode.notSplit(request.err):
		return metav1.ListMeta{}, fmt.Errorf("%w: %w", feed.ErrNotSplit, request.err)
	case request.read: // the client's result is that of the placeholder
		return request.header.Meta, request.err
	case err != nil:
		s.checkRetries(ctx, err, response)
		return metav1.ListMeta{}, withRetryAfter(err, response)
	case response.Consumed:
		return metav1.ListMeta{}, errNotRead
	}
	return s.decoded.addAll(list, options, add)
}

// tryDecoded makes a list request whose response the client decodes. If the response is the last
// page of a list, streaming ends for the reason.
func (s streamSource) tryDecoded(ctx context.Context, reason string, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	page, err := s.decoded.List(ctx, options, add)
	switch {
	case err != nil:
		s.mode.endTrial()
	case page.Continue == "":
		s.mode.disable(klog.FromContext(ctx), reason)
	}
	return page, err
}

// reasonToDisable returns why no list of this collection can be split, if that is why this one
// could not. list is the client's result: the placeholder, decoded.
func (s streamSource) reasonToDisable(request *listRequest, list runtime.Object) string {
	switch {
	case errors.Is(request.err, errNoKind):
		return reasonKindAfterItems
	case !errors.Is(request.err, wire.ErrWrongKind) || request.header.Kind == s.expected().Kind+"List" || !isPlaceholder(list):
		return ""
	case s.decoded.objects.IsUnstructured(): // the kind is not taken from the Go type
		return ""
	}
	if _, err := s.decoded.checkList(list); err != nil {
		return ""
	}
	return reasonKindName // the client decodes that kind into the expected Go type
}

var (
	errNotRead = errors.New("the client did not read the server's response")
	errNoKind  = errors.New("neither the object nor what precedes it in the list states its kind")

	errNoListKind = errors.New("the list states no kind")
)

// listRequest is one list request. The client's goroutine feeds it, and may continue after List
// has returned.
type listRequest struct {
	gate
	source streamSource
	isPage bool // another one precedes it
	codecs *codec.Codecs
	add    func(feed.Item) error
	logger klog.Logger

	sinkErr  error // returned by add
	read     bool  // to the end or to an error; the fields below are set then
	header   wire.ListHeader
	err      error
	notSplit bool // err is of the bytes, not of the connection or of add
}

// consume splits the body and returns its placeholder, whose format may be another.
func (r *listRequest) consume(format wire.Format, body io.ReadCloser, placeholderFormat wire.Format) []byte {
	connection := &connection{Reader: r.source.decoded.traffic.reader(body)}
	header, err := r.splitInTime(format, connection, body.Close)
	if r.push(func() error {
		r.read, r.header, r.err = true, header, err
		r.notSplit = err != nil && r.sinkErr == nil && !feed.IsPanic(err) && !connection.broke(err)
		return nil
	}) != nil {
		feed.LogPanic(r.logger, err)
	}
	return placeholder(header, placeholderFormat)
}

// splitInTime is split for a body whose rest is read at once after Config.ReadTime. The body is
// then closed.
func (r *listRequest) splitInTime(format wire.Format, body io.Reader, closeBody func() error) (wire.ListHeader, error) {
	if r.source.readTime == 0 {
		return r.split(format, body)
	}
	timed := newTimedReader(body, closeBody, r.source.readTime)
	defer timed.stop()
	return r.split(format, timed)
}

// split passes on the items of the body. A panic, such as of the client's transport, is a
// *feed.PanicError.
func (r *listRequest) split(format wire.Format, body io.Reader) (header wire.ListHeader, err error) {
	defer feed.RecoverPanic("reading the list's response", &err)
	expected := r.source.expected()
	expected.Page = r.isPage
	header, err = wire.List(body, format, expected, r.addItem)
	if err == nil {
		err = r.source.checkHeader(header)
	}
	return header, err
}

// checkHeader returns an error unless a list states a kind that the collection's lists may have.
// The list kind of a generated type is known. That of a custom resource is chosen by its
// CustomResourceDefinition, in the API version of the objects.
func (s streamSource) checkHeader(header wire.ListHeader) error {
	want := s.expected()
	generic := header.APIVersion == "v1" && header.Kind == "List"
	switch {
	case header.Kind == "":
		return errNoListKind
	case s.decoded.objects.IsGenerated() && header.Kind != want.Kind+"List":
		return fmt.Errorf("%w %q, want %q", wire.ErrWrongKind, header.Kind, want.Kind+"List")
	case want.APIVersion != "" && header.APIVersion != want.APIVersion && !generic:
		return fmt.Errorf("%w: apiVersion %q of %s, want %q", wire.ErrWrongKind, header.APIVersion, header.Kind, want.APIVersion)
	}
	return checkVersion(header.Meta.ResourceVersion)
}

func (r *listRequest) addItem(split *wire.Item) error {
	return r.push(func() error {
		item, err := feedItem(split, r.codecs)
		if errors.Is(err, errNoKind) {
			return fmt.Errorf("item %d of the list: %w", split.Index, err)
		}
		item = inList(item, split.Index, err)
		item.Borrowed = true
		r.sinkErr = r.add(item)
		return r.sinkErr
	})
}
