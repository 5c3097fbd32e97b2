// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"io"
	"net"
	"testing"
)

// echo starts a server that sends back what it receives.
func echo(t *testing.T) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// roundTrip sends a byte and waits for it.
func roundTrip(conn net.Conn) error {
	if _, err := conn.Write([]byte("x")); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err
}

func TestCutLinkClosesAndRefusesConnections(t *testing.T) {
	l, err := newLink(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	connect := func() net.Conn {
		conn, err := net.Dial("tcp", l.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	open := connect()
	if err := roundTrip(open); err != nil {
		t.Fatal(err)
	}
	l.setCut(true)
	for name, conn := range map[string]net.Conn{"open": open, "new": connect()} {
		if err := roundTrip(conn); err == nil {
			t.Errorf("the %s connection of a cut link works", name)
		}
	}
	l.setCut(false)
	if err := roundTrip(connect()); err != nil {
		t.Errorf("connection of a mended link: %v", err)
	}
}
