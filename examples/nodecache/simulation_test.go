// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/examples/internal/terminal"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// A simulated cluster keeps its size, and each step changes a node.
func TestSimulationChangesNodes(t *testing.T) {
	for _, size := range []int{1, 2, 20} {
		t.Run(fmt.Sprint(size, " nodes"), func(t *testing.T) {
			server, err := fake.StartAPIServer(fake.APIServerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = server.Close(context.Background()) }()
			s, seen := newSimulation(server, size), map[string]bool{}
			for step := 0; step < 300 || len(seen) < 4 && step < 100_000; step++ { // the changes are random
				version := server.ResourceVersion()
				s.step()
				if server.ResourceVersion() == version {
					t.Fatal("a step wrote nothing")
				}
				if n := len(s.nodes); n != size && n != size+1 || s.nodes[0].Name != "control-plane" {
					t.Fatalf("got %d nodes, the first of them %s", n, s.nodes[0].Name)
				}
				for _, node := range s.nodes {
					seen[statusOf(node)] = true
				}
			}
			if len(seen) != 4 {
				t.Errorf("got the statuses %v, want all four", seen)
			}
		})
	}
}

// network is a network in memory with one port, which refuses connections while nothing listens.
type network struct {
	mu       sync.Mutex // guards listener
	listener *cachetest.PipeListener
}

// networkListener is a listener on the port.
type networkListener struct {
	*cachetest.PipeListener
	network *network
}

func (n *network) listen() (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listener = cachetest.NewPipeListener()
	return networkListener{n.listener, n}, nil
}

// Close implements net.Listener.
func (l networkListener) Close() error {
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	if l.network.listener == l.PipeListener {
		l.network.listener = nil
	}
	return l.PipeListener.Close()
}

func (n *network) dial(context.Context, string, string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listener == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: cachetest.ErrConnectionRefused}
	}
	client, server := net.Pipe()
	n.listener.Enqueue(server)
	return client, nil
}

// TestNodesAreUpToDateBetweenRestarts looks at the cache each second for an hour. It recovers from
// later restarts as fast as from the first.
func TestNodesAreUpToDateBetweenRestarts(t *testing.T) {
	const looks = 3600
	synctest.Test(t, func(t *testing.T) {
		network := &network{}
		listener, _ := network.listen()
		stop, err := simulate(t.Context(), 20, listener, network.listen)
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		transport := &http.Transport{DialContext: network.dial}
		defer transport.CloseIdleConnections()
		nodes := newNodeCache(kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://server", QPS: -1, Transport: transport}), terminal.NewView(io.Discard, ""))
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- nodes.controller.Run(ctx) }()
		outOfDate, failed, failures := 0, false, 0
		second := time.NewTicker(time.Second)
		defer second.Stop()
		for range looks {
			<-second.C
			state, status := nodes.state(), nodes.controller.Status()
			if status.Freshness.Staleness > 2*stepInterval {
				outOfDate++
			}
			if state.Failure != "" && !failed {
				failures++
			}
			if failed = state.Failure != ""; failed && !strings.Contains(state.Failure, "connection refused") && !strings.Contains(state.Failure, "too old resource version") {
				t.Errorf("failure %s", state.Failure)
			}
		}
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if restarts := int(time.Hour / uptime); failures < restarts-1 || failures > restarts+1 {
			t.Errorf("%d failures, want one of each of about %d restarts", failures, restarts)
		}
		if outOfDate > 5*failures {
			t.Errorf("out of date in %d of %d seconds", outOfDate, looks)
		}
	})
}
