// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package fault declares the faults that tests inject into the servers of package fake, chooses the
// fault of a request, and delays requests. Each server applies the rest.
package fault

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// Fault is a fault of one request: a call of List or Watch of a ListerWatcher, or any request to an
// APIServer. Fields may be combined. The zero value is no fault.
type Fault struct {
	// Delay delays the request, before any other effect. If the request's context is done before
	// that, the request fails; that of a ListerWatcher fails after its TimeoutSeconds, too.
	Delay time.Duration
	// Hold, if not nil, blocks the request after Delay until the channel is closed. The request
	// fails as during Delay. It is served after the wait.
	Hold <-chan struct{}
	// Err, if not nil, is the response, and the request writes nothing. An APIServer responds with
	// a 500 if it is not an API error.
	Err error

	// ResourceVersion, if not empty, makes a get, list or watch read from a replica that never
	// advances beyond this version, whatever version the request asks for. The response is 410 if
	// the version is no longer in the history.
	ResourceVersion string

	// CloseAfterEvents, if positive, closes a watch after that many events, including bookmarks. If
	// negative, the watch is closed without any event. The response is complete, without a broken
	// connection.
	CloseAfterEvents int
	// CloseIn, if positive, closes a watch after that time, with a complete response. With Stall,
	// it closes the connection of any other request to an APIServer after that time.
	CloseIn time.Duration
	// Stall makes a watch a dead connection: it is opened and sends nothing, not even bookmarks,
	// and neither its TimeoutSeconds nor CloseWatches close it. Other requests to an APIServer get
	// no response and write nothing. The connection stays open until the client closes it, CloseIn
	// has passed or the APIServer is closed.
	Stall bool

	// CutAfterBytes, if positive, closes the connection after that many bytes of the response body,
	// counted after compression. If negative, the connection is closed before the body. A write
	// takes effect all the same. Only an APIServer has this fault.
	CutAfterBytes int

	// EditList, if not nil, is called with the list, and List returns its result. The argument is a
	// copy and may be modified. Only a ListerWatcher has this fault.
	EditList func(list runtime.Object) runtime.Object
	// EditEvent, if not nil, is called with each event of a watch, except those of Send. The watch
	// sends the returned events, zero or more, in its place. The argument is a copy and may be
	// modified. EditEvent must not call methods of the ListerWatcher. Only a ListerWatcher has this
	// fault.
	EditEvent func(event watch.Event) []watch.Event
}

// Wait waits for Delay and Hold. It reports whether they are over before ended or closing is
// closed.
func (f Fault) Wait(ended, closing <-chan struct{}) bool {
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-ended:
			return false
		case <-closing:
			return false
		}
	}
	if f.Hold != nil {
		select {
		case <-f.Hold:
		case <-ended:
			return false
		case <-closing:
			return false
		}
	}
	return true
}

// Replica returns the replica that answers the request. [Queue.Add] has validated the version.
func (f Fault) Replica() history.Replica {
	version, err := history.ParseVersion(f.ResourceVersion)
	if err != nil {
		return 0
	}
	return history.Replica(version)
}
