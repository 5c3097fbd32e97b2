// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
)

// fakeTimeout is how long the next initial event of a client-go fake is waited for. Fakes answer
// from memory. A server may take longer: how long it is waited for is the reflector's part.
const fakeTimeout = 2 * time.Second

// fakeSilence returns a channel that receives a value after fakeTimeout, if the stream is that of a
// client-go fake and the request was for the initial events, which these fakes never send. It
// returns nil for all other streams.
func fakeSilence(stream watch.Interface, options metav1.ListOptions) <-chan time.Time {
	if _, fake := stream.(*watch.RaceFreeFakeWatcher); !fake || options.SendInitialEvents == nil {
		return nil
	}
	return clock.RealClock{}.After(fakeTimeout)
}

// traits is what a source is known to be. See feed.Traits.
type traits struct {
	declared    bool        // by the ListerWatcher
	server      atomic.Bool // a response came from one
	fake        atomic.Bool // a watch was of a fake's type
	unversioned atomic.Bool // the last one was
}

// trace returns the context of a request. A client that receives an HTTP response by it is that of
// a server, whatever its ListerWatcher declares.
func (t *traits) trace(ctx context.Context) context.Context {
	if t.server.Load() {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: t.isServer})
}

// isServer records a response that came from an API server.
func (t *traits) isServer() { t.server.Store(true) }

// opened records the type of an open watch.
func (t *traits) opened(stream watch.Interface) {
	switch stream.(type) {
	case *watch.FakeWatcher, *watch.RaceFreeFakeWatcher:
		t.fake.Store(true)
		t.unversioned.Store(true)
	case *watch.StreamWatcher: // decodes what it reads from a connection
		t.isServer()
		t.unversioned.Store(false)
	default:
		t.unversioned.Store(false)
	}
}

func (t *traits) get() feed.Traits {
	fake := t.fake.Load() || t.declared && !t.server.Load()
	return feed.Traits{Server: t.server.Load(), Fake: fake, Unversioned: t.unversioned.Load()}
}
