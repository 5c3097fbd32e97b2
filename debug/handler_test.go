// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

func TestOnlyGetAndHead(t *testing.T) {
	informer, _ := pods("pods")
	handler := Handler(Options{}, informer)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace, "X"} {
		for _, target := range []string{"/", "/informers.json", page("informer", informer.Views()[0].ID(), "")} {
			answer := serve(t, handler, method+" "+target)
			if answer.Code != http.StatusMethodNotAllowed || answer.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: got status %d, Allow %q", method, target, answer.Code, answer.Header().Get("Allow"))
			}
			expectNot(t, answer.Body.String(), "pods")
		}
	}
	if answer := serve(t, handler, "HEAD /"); answer.Code != http.StatusOK {
		t.Errorf("HEAD: got status %d", answer.Code)
	}
}

func TestSecurityHeaders(t *testing.T) {
	informer, _ := pods("pods")
	handler := Handler(Options{}, informer)
	for _, target := range []string{"GET /", "GET /style.css", "GET /refresh.js", "GET /icon.svg", "GET /informers.json", "GET /none", "POST /"} {
		header := serve(t, handler, target).Header()
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "Vary": "Accept, Accept-Encoding",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: got %s %q, want %q", target, name, got, want)
			}
		}
		expect(t, header.Get("Content-Security-Policy"), "default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'")
		expectNot(t, header.Get("Content-Security-Policy"), "unsafe", "*", "http")
	}
}

// TestCompressed asks for pages with and without compression.
func TestCompressed(t *testing.T) {
	handler := Handler(Options{})
	for accepted, want := range map[string]string{"": "", "gzip": "gzip", "br, gzip;q=0.5": "gzip", "gzip;q=0, br": "", "gzip; q=0.0": "", "xgzip": ""} {
		for _, target := range []string{"/", "/informers.json", "/style.css", "/none"} {
			answer := serve(t, handler, "GET "+target, "Accept-Encoding: "+accepted)
			content := io.Reader(answer.Body)
			if got := answer.Header().Get("Content-Encoding"); got != want || answer.Header().Get("Content-Length") != strconv.Itoa(answer.Body.Len()) {
				t.Fatalf("%q: got Content-Encoding %q", accepted, got)
			}
			if want == "gzip" {
				content, _ = gzip.NewReader(content)
			}
			if text, err := io.ReadAll(content); err != nil || string(text) != serve(t, handler, "GET "+target).Body.String() && target != "/" && target != "/informers.json" {
				t.Errorf("%q: %s is %q, %v", accepted, target, text, err)
			}
		}
	}
}

func TestUnknownPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer, server := pods("pods")
		server.Create(pod("web"))
		run(t, informer)
		id := informer.Views()[0].ID()
		for target, want := range map[string]int{
			"/none":                           http.StatusNotFound,
			"/assets":                         http.StatusNotFound,
			"/overview.html":                  http.StatusNotFound,
			"/informer":                       http.StatusBadRequest,
			"/informer?id=x":                  http.StatusBadRequest,
			"/informer?id=-1":                 http.StatusBadRequest,
			"/informer?id=0":                  http.StatusNotFound,
			"/informer.json?id=1844674407370": http.StatusNotFound,
			page("informer", id, "") + "&find=" + strings.Repeat("x", 1025): http.StatusBadRequest,
			page("informer", id, "") + "&find=%ff":                          http.StatusBadRequest,
			page("object", id, strings.Repeat("x", 1025)):                   http.StatusBadRequest,
			page("object", id, "ns/other"):                                  http.StatusNotFound,
			page("object", id, "ns/web"):                                    http.StatusOK,
		} {
			if got := serve(t, Handler(withObjects, informer), "GET "+target).Code; got != want {
				t.Errorf("%.60s: got status %d, want %d", target, got, want)
			}
		}
	})
}

// TestPrefix mounts the handler in several ways, and follows the links of its pages.
func TestPrefix(t *testing.T) {
	informer, _ := pods("pods")
	handler := Handler(Options{}, informer)
	below := http.NewServeMux()
	below.Handle("/a/b/", handler)
	stripped := http.NewServeMux()
	stripped.Handle("/a/b/", http.StripPrefix("/a/b", handler))
	slash := http.NewServeMux()
	slash.Handle("/a/b/", http.StripPrefix("/a/b/", handler))
	for name, mux := range map[string]http.Handler{"pattern": below, "StripPrefix": stripped, "StripPrefix with a slash": slash} {
		pages, seen := []string{"/a/b/"}, map[string]bool{}
		for len(pages) > 0 {
			target := pages[0]
			pages = pages[1:]
			if seen[target] {
				continue
			}
			seen[target] = true
			for _, link := range links(get(t, mux, target)) {
				pages = append(pages, resolve(t, target, link))
			}
		}
		if len(seen) < 7 {
			t.Errorf("%s: got the pages %v", name, seen)
		}
	}
}

// links returns the addresses that a page refers to, those in itself excepted.
func links(page string) (found []string) {
	for _, attribute := range []string{` href="`, ` src="`, ` action="`} {
		for _, part := range strings.Split(page, attribute)[1:] {
			if link, _, _ := strings.Cut(part, `"`); link[0] != '#' {
				found = append(found, strings.ReplaceAll(link, "&amp;", "&"))
			}
		}
	}
	return found
}

func resolve(t *testing.T, page, link string) string {
	t.Helper()
	base, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	to, err := base.Parse(link)
	if err != nil || to.Host != "" {
		t.Fatal(link, err)
	}
	if to.Path == "/a/b/informer" && to.RawQuery == "" { // the form's action, which adds parameters
		return page
	}
	return to.String()
}

// TestMissingSlash redirects from a path below which relative links would not work.
func TestMissingSlash(t *testing.T) {
	handler := http.StripPrefix("/a/b", Handler(Options{}))
	answer := serve(t, handler, "GET /a/b")
	if to := answer.Header().Get("Location"); answer.Code != http.StatusPermanentRedirect || to != "./b/" {
		t.Errorf("got status %d, Location %q", answer.Code, to)
	}
}

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

// TestFieldsOfObjectsAreShown shows an informer of some fields of Pods under their kind.
func TestFieldsOfObjectsAreShown(t *testing.T) {
	type partialPod = cache.PartialObject[*corev1.Pod, struct {
		Spec struct {
			NodeName string `json:"nodeName"`
		} `json:"spec"`
	}]
	for name, packed := range map[string]bool{"live": false, "packed": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := fake.NewListerWatcher(&corev1.Pod{})
				server.Create(pod("a"))
				informer := cache.NewSharedInformer(server, &partialPod{}, cache.InformerOptions[*partialPod]{Packed: packed})
				run(t, informer)
				handler := Handler(withObjects, informer)
				if all := getJSON[overview](t, handler, "/informers.json"); len(all.Informers) != 1 || all.Informers[0].Kind != "Pod" || all.Informers[0].Name != "Pod" {
					t.Errorf("the overview has %+v", all.Informers)
				}
				expect(t, get(t, handler, page("object.json", informer.Views()[0].ID(), "ns/a")), `"kind": "Pod"`, `"apiVersion": "partial.kinformer.dev/v1"`, `"nodeName": "node-7"`)
			})
		})
	}
}
