// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestLoopbackAddressAnswersToNoOtherHost sends requests as a browser does for a name that resolves
// to a loopback address.
func TestLoopbackAddressAnswersToNoOtherHost(t *testing.T) {
	informer, _ := pods("pods")
	handler := Handler(Options{Hosts: []string{"debug.example"}}, informer)
	for _, c := range []struct {
		local net.Addr
		host  string
		want  int
	}{
		{tcp("127.0.0.1"), "attacker.example", http.StatusMisdirectedRequest},
		{tcp("127.0.0.1"), "attacker.example:8080", http.StatusMisdirectedRequest},
		{tcp("127.0.0.6"), "127.0.0.1.attacker.example", http.StatusMisdirectedRequest},
		{tcp("::1"), "localhost.attacker.example:8080", http.StatusMisdirectedRequest},
		{tcp("::ffff:127.0.0.1"), "xdebug.example", http.StatusMisdirectedRequest},
		{tcp("127.0.0.1"), "", http.StatusMisdirectedRequest},
		{tcp("127.0.0.1"), "localhost", http.StatusOK},
		{tcp("127.0.0.1"), "LocalHost:8080", http.StatusOK},
		{tcp("127.0.0.1"), "127.0.0.1:8080", http.StatusOK},
		{tcp("::1"), "[::1]:8080", http.StatusOK},
		{tcp("::1"), "[::1]", http.StatusOK},
		{tcp("127.0.0.1"), "10.0.0.7", http.StatusOK},
		{tcp("127.0.0.1"), "Debug.example:443", http.StatusOK},
		{tcp("10.0.0.7"), "pod.example", http.StatusOK},
		{&net.UnixAddr{Name: "/run/debug.sock", Net: "unix"}, "any", http.StatusOK},
		{nil, "any", http.StatusOK},
	} {
		for _, target := range []string{"/", "/informers.json", "/style.css"} {
			answer := serveHost(t, handler, target, c.local, c.host)
			if answer.Code != c.want {
				t.Errorf("%v, Host %q, %s: got status %d, want %d", c.local, c.host, target, answer.Code, c.want)
			}
			if c.want != http.StatusOK {
				expectNot(t, answer.Body.String(), "pods")
				expect(t, answer.Body.String(), "debug.Options.Hosts")
			}
		}
	}
}

func tcp(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 8080} }

// serveHost returns the answer to a request with a Host that arrived at a local address.
func serveHost(t *testing.T, handler http.Handler, target string, local net.Addr, host string) *httptest.ResponseRecorder {
	t.Helper()
	ctx := t.Context()
	if local != nil {
		ctx = context.WithValue(ctx, http.LocalAddrContextKey, local)
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	r.Host = host
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	return answer
}

// TestServedOnLoopback asks a server by its address, and by another name.
func TestServedOnLoopback(t *testing.T) {
	server := httptest.NewServer(Handler(Options{}))
	defer server.Close()
	for host, want := range map[string]int{"": http.StatusOK, "attacker.example": http.StatusMisdirectedRequest} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host // empty: that of the URL
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("Host %q: got status %d, want %d", host, answer.StatusCode, want)
		}
	}
}
