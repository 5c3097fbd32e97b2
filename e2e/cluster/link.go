// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
)

// link is a TCP proxy on loopback between one kube-apiserver and etcd. While it is cut, it has no
// connections and closes new ones: kube-apiserver goes on with what is in its watch cache.
type link struct {
	listener net.Listener
	target   string
	copies   sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	cut   bool
	conns map[net.Conn]bool
}

func newLink(target string) (*link, error) {
	addrs, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", addrs[0]) //nolint:noctx // it does not block
	if err != nil {
		return nil, fmt.Errorf("listen for a kube-apiserver: %w", err)
	}
	l := &link{listener: listener, target: target, conns: map[net.Conn]bool{}}
	l.copies.Go(l.accept)
	return l, nil
}

func (l *link) url() string { return "http://" + l.listener.Addr().String() }

// accept connects each client to the target until the listener is closed.
func (l *link) accept() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.copies.Go(func() { l.connect(from) })
	}
}

func (l *link) connect(from net.Conn) {
	to, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", l.target)
	if err != nil {
		_ = from.Close()
		return
	}
	if !l.add(from, to) {
		return
	}
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // ends with either connection
			_ = pair[0].Close()
			_ = pair[1].Close()
		})
	}
	both.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, from)
	delete(l.conns, to)
}

// add records connections. If the link is cut, it closes them and reports false.
func (l *link) add(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range conns {
		if l.cut {
			_ = conn.Close()
		} else {
			l.conns[conn] = true
		}
	}
	return !l.cut
}

// setCut cuts the link, or mends it.
func (l *link) setCut(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	if cut {
		for conn := range l.conns {
			_ = conn.Close()
		}
	}
}

func (l *link) isCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
}

// close closes the link, and returns when its goroutines have ended.
func (l *link) close() {
	l.setCut(true)
	_ = l.listener.Close()
	l.copies.Wait()
}
