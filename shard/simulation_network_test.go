// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package shard

import (
	"context"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

var (
	errConnection = errors.New("connection lost")
	errRefused    = errors.New("connection refused")
)

// connectionTimeout is when a client gives up a connection on which nothing arrives.
const connectionTimeout = 30 * time.Second

// network is the connection of a process to the server, with its faults.
type network struct {
	*simulatedServer

	gate    *gate
	seed    uint64
	latency time.Duration
	link    gate // closed by a partition
	events  gate // closed while events are held back
	lists   gate // closed while lists have no response

	mu      sync.Mutex
	dead    bool
	lossy   int
	armed   bool              // the next write closes the gate
	frozen  bool              // a write has done so
	sent    map[string]uint64 // requests, by verb and name
	waiting int               // requests without a response
	watches map[*heldWatch]bool
	broken  chan struct{} // closed when the connection is
}

func newNetwork(server *simulatedServer, gate *gate, seed uint64, latency time.Duration) *network {
	return &network{
		simulatedServer: server, gate: gate, seed: seed, latency: latency,
		sent: make(map[string]uint64), watches: make(map[*heldWatch]bool), broken: make(chan struct{}),
	}
}

// fate is what happens to a request.
type fate struct {
	before, after time.Duration // the times that request and response take
	requestLost   bool
	responseLost  bool
	refused       error
}

// fateOf draws the fate of a request. It depends on the seed and the request alone, not on the
// order of requests that are sent at the same instant.
func (n *network) fateOf(request string) fate {
	down := n.isDown()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sent[request]++
	hash := fnv.New64a()
	hash.Write([]byte(request))
	random := rand.New(rand.NewPCG(n.seed^hash.Sum64(), n.sent[request]))
	f := fate{before: upTo(random, n.latency), after: upTo(random, n.latency)}
	switch {
	case n.dead:
		f.refused = errConnection
	case down:
		f.refused = errRefused
	case n.lossy > 0:
		f.draw(random)
	}
	return f
}

// upTo returns a random duration of at most d.
func upTo(random *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(d) + 1)).Truncate(min(d, time.Millisecond))
}

// draw draws the fate of a request on a bad connection.
func (f *fate) draw(random *rand.Rand) {
	switch random.IntN(10) {
	case 0:
		f.requestLost = true
	case 1:
		f.responseLost = true
	case 2:
		f.before = upTo(random, 30*time.Second)
	case 3:
		f.after = upTo(random, 30*time.Second)
	}
}

type response[T any] struct {
	value T
	err   error
}

// call sends a request. The server may apply it after call has returned.
func call[T any](ctx context.Context, n *network, request string, apply func(context.Context) (T, error)) (T, error) {
	var none T
	n.gate.wait()
	defer n.gate.wait()
	f := n.fateOf(request)
	if f.refused != nil {
		return none, f.refused
	}
	broken := n.open(request)
	defer n.set(func(n *network) { n.waiting-- })
	arrived := make(chan response[T], 1)
	go func() {
		<-time.After(f.before)
		n.link.wait()
		if f.requestLost {
			return
		}
		value, err := apply(context.WithoutCancel(ctx))
		<-time.After(f.after)
		n.link.wait()
		if !f.responseLost {
			arrived <- response[T]{value, err}
		}
	}()
	err := errConnection
	select {
	case r := <-arrived:
		return r.value, r.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(connectionTimeout):
	case <-broken:
	}
	n.gate.wait()
	select { // a response may have arrived while the process was stopped
	case r := <-arrived:
		return r.value, r.err
	default:
		return none, err
	}
}

func (n *network) addLossy(by int) func() {
	return func() { n.set(func(n *network) { n.lossy += by }) }
}

// freeze makes the next write stop the process while it is on its way. It returns false if the
// process waits for such a write already, or was stopped by one.
func (n *network) freeze() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.armed || n.frozen {
		return false
	}
	n.armed = true
	return true
}

// thaw ends what freeze began.
func (n *network) thaw() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.frozen {
		n.gate.open()
	}
	n.armed, n.frozen = false, false
}

// open begins a request. It returns a channel that is closed when the connection breaks.
func (n *network) open(request string) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiting++
	verb, _, _ := strings.Cut(request, " ")
	if n.armed && slices.Contains([]string{"create", "update", "delete"}, verb) {
		n.gate.close()
		n.armed, n.frozen = false, true
	}
	return n.broken
}

// reset breaks the connection, so that the client notices at once which requests are lost.
func (n *network) reset() {
	n.set(func(n *network) {
		close(n.broken)
		n.broken = make(chan struct{})
	})
	n.cut()
}

func (n *network) isIdle() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.waiting == 0
}

// set changes the faults.
func (n *network) set(change func(*network)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n)
}

// Get implements LeaseClient, as the following methods do.
func (n *network) Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error) {
	return call(ctx, n, "get "+name, func(ctx context.Context) (*coordinationv1.Lease, error) {
		return n.simulatedServer.Get(ctx, name, options)
	})
}

func (n *network) List(ctx context.Context, options metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	return call(ctx, n, "list", func(ctx context.Context) (*coordinationv1.LeaseList, error) {
		n.lists.wait()
		return n.simulatedServer.List(ctx, options)
	})
}

func (n *network) Create(ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return call(ctx, n, "create "+lease.Name, func(ctx context.Context) (*coordinationv1.Lease, error) {
		return n.simulatedServer.Create(ctx, lease, options)
	})
}

func (n *network) Update(ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return call(ctx, n, "update "+lease.Name, func(ctx context.Context) (*coordinationv1.Lease, error) {
		return n.simulatedServer.Update(ctx, lease, options)
	})
}

func (n *network) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	_, err := call(ctx, n, "delete "+name, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, n.simulatedServer.Delete(ctx, name, options)
	})
	return err
}

func (n *network) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return call(ctx, n, "watch", func(context.Context) (watch.Interface, error) {
		inner, err := n.simulatedServer.Watch(ctx, options)
		if err != nil {
			return nil, err
		}
		w := &heldWatch{Interface: inner, events: make(chan watch.Event), stopped: make(chan struct{})}
		n.set(func(n *network) { n.watches[w] = true })
		go w.run(ctx, n)
		return w, nil
	})
}

// cut closes all watches.
func (n *network) cut() {
	n.set(func(n *network) {
		for w := range n.watches {
			w.Interface.Stop()
		}
		clear(n.watches)
	})
}

// heldWatch is a watch whose events arrive when the network and the process allow it.
type heldWatch struct {
	watch.Interface

	events  chan watch.Event
	stopped chan struct{}
	once    sync.Once
}

func (w *heldWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *heldWatch) Stop() {
	w.once.Do(func() { close(w.stopped) })
	w.Interface.Stop()
}

func (w *heldWatch) run(ctx context.Context, n *network) {
	defer close(w.events)
	for event := range w.Interface.ResultChan() {
		n.link.wait()
		n.events.wait()
		n.gate.wait()
		select {
		case w.events <- event:
		case <-w.stopped:
			return
		case <-ctx.Done():
			return
		}
	}
	n.gate.wait()
}
