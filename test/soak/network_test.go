// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package soak_test

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// network counts the requests of one informer and breaks its connections.
type network struct {
	mu          sync.Mutex // guards the fields below
	requests    []request
	connections map[net.Conn]bool
}

// request is a request that the informer's budget counts: any but further pages.
type request struct {
	at   time.Time
	what string
}

// attach makes the clients of a config use the network.
func (n *network) attach(config *rest.Config) {
	n.connections = make(map[net.Conn]bool)
	config.Dial = n.dial
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if !r.URL.Query().Has("continue") {
				n.record(r)
			}
			return next.RoundTrip(r)
		})
	})
}

func (n *network) record(r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests = append(n.requests, request{time.Now(), r.URL.RawQuery})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (n *network) dial(ctx context.Context, protocol, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, protocol, address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.connections[c] = true
	return connection{c, n}, nil
}

// connection is a connection that the network knows until it is closed.
type connection struct {
	net.Conn
	network *network
}

func (c connection) Close() error {
	c.network.mu.Lock()
	delete(c.network.connections, c.Conn)
	c.network.mu.Unlock()
	return c.Conn.Close()
}

// breakConnections closes all connections, without the knowledge of the client.
func (n *network) breakConnections() {
	n.mu.Lock()
	connections := slices.Collect(maps.Keys(n.connections))
	n.mu.Unlock()
	for _, c := range connections {
		_ = c.Close() // the client may have closed it meanwhile
	}
}

// budgetWindow is the window of the budget, a minute, less the time by which a busy machine may
// delay a request.
const budgetWindow = time.Minute - 2*time.Second

// busiestMinute returns the requests of the minute that has most of them.
func (n *network) busiestMinute() (busiest []request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	first := 0
	for i, r := range n.requests {
		for r.at.Sub(n.requests[first].at) >= budgetWindow {
			first++
		}
		if minute := n.requests[first : i+1]; len(minute) > len(busiest) {
			busiest = minute
		}
	}
	return busiest
}

func (r request) String() string { return r.at.Format("04:05.000 ") + r.what }

// forgetRequests forgets the requests of an informer that has stopped.
func (n *network) forgetRequests() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests = nil
}
