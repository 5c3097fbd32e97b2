// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// transportFunc is a transport made of a function.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// caching returns a transport that caches the responses to lists. It respects no-store, or ignores
// it.
func caching(respectsNoStore bool) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		var cached []byte
		var header http.Header
		return transportFunc(func(r *http.Request) (*http.Response, error) {
			if cached != nil && !r.URL.Query().Has("watch") {
				return &http.Response{StatusCode: http.StatusOK, Header: header.Clone(), Body: io.NopCloser(strings.NewReader(string(cached))), Request: r}, nil
			}
			response, err := next.RoundTrip(r)
			if err != nil || r.URL.Query().Has("watch") || respectsNoStore && response.Header.Get("Cache-Control") == "no-store" {
				return response, err
			}
			header = response.Header.Clone()
			if cached, err = io.ReadAll(response.Body); err != nil {
				return nil, err
			}
			response.Body.Close()
			response.Body = io.NopCloser(strings.NewReader(string(cached)))
			return response, nil
		})
	}
}

// TestCachedPlaceholderIsRejected puts a caching transport around the tap. The cached placeholder
// is not mistaken for an empty collection.
func TestCachedPlaceholderIsRejected(t *testing.T) {
	f := cachetest.Formats["JSON"]
	script := func(t *testing.T) (*cachetest.Script, *rest.Config) {
		s := cachetest.NewScript(t, []http.HandlerFunc{
			cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1"))),
			cachetest.Serve(f.ListType, f.Nodes("5", cachetest.Node("a", "1"), cachetest.Node("b", "4"))),
		}, nil)
		s.Watches = []http.HandlerFunc{cachetest.ServeStatus(http.StatusGone, ""), s.ServeOpen(f.WatchType, nil)}
		return s, s.Config()
	}
	t.Run("no-store ignored", func(t *testing.T) {
		_, config := script(t)
		cache.EnableStreaming(config)
		config.Wrap(caching(false))
		h := cachetest.RunOverNetwork(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
		h.Expect("A a@1")
		h.ExpectError() // 410
		if err := cachetest.Next(t, h.Errors); !strings.Contains(err.Error(), "caching transport") {
			t.Errorf("error %v", err)
		}
		if len(h.Store.List()) != 1 {
			t.Errorf("the store holds %v", h.Store.ListKeys())
		}
	})
	t.Run("no-store respected", func(t *testing.T) {
		_, config := script(t)
		cache.EnableStreaming(config)
		config.Wrap(caching(true))
		h := cachetest.RunOverNetwork(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
		h.Expect("A a@1", "A b@4")
		h.ExpectStreaming()
	})
	t.Run("cache between two taps", func(t *testing.T) {
		_, config := script(t)
		cache.EnableStreaming(config)
		config.Wrap(caching(true))
		cache.EnableStreaming(config)
		h := cachetest.RunOverNetwork(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
		h.Expect("A a@1")
		h.ExpectStreaming()
	})
}

// TestUnreadResponseIsAnError has a transport that replaces the response by an empty list without
// reading it.
func TestUnreadResponseIsAnError(t *testing.T) {
	f := cachetest.Formats["JSON"]
	s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1")))}, nil)
	config := s.Config()
	cache.EnableStreaming(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transportFunc(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil {
				response.Body.Close()
				response.Body = io.NopCloser(strings.NewReader(`{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[]}`))
			}
			return response, err
		})
	})
	h := cachetest.RunOverNetwork(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
	if err := cachetest.Next(t, h.Errors); !strings.Contains(err.Error(), "did not read") {
		t.Errorf("error %v", err)
	}
	if h.Controller.HasDelivered() {
		t.Error("synced without a response")
	}
}

// TestTransportsSeeResponseOrPlaceholder dumps responses inside and outside the tap: transports
// inside see the server's response, those outside the placeholder, which has the format of the
// response if the client accepts that.
func TestTransportsSeeResponseOrPlaceholder(t *testing.T) {
	for accepted, placeholder := range map[string]string{
		"application/json": `"resourceVersion":"3"`,
		"application/json,application/vnd.kubernetes.protobuf": "k8s\x00",
	} {
		t.Run(accepted, func(t *testing.T) {
			f := cachetest.Formats["protobuf"]
			s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1")))}, nil)
			s.Watches = []http.HandlerFunc{s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("b", "4")))}
			var dumped dumps
			config := s.Config()
			config.AcceptContentTypes = accepted
			config.Wrap(dumped.wrap)
			cache.EnableStreaming(config)
			config.Wrap(dumped.wrap)
			h := cachetest.RunOverNetwork(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
			h.Expect("A a@1", "A b@4")
			h.ExpectStreaming()
			dumped.mu.Lock()
			defer dumped.mu.Unlock()
			if all := dumped.all; len(all) != 4 || !strings.Contains(all[0], "uid-a") || strings.Contains(all[1], "uid-a") || !strings.Contains(all[1], placeholder) {
				t.Errorf("dumped responses %q", all)
			}
		})
	}
}

// dumps are the responses that pass a transport.
type dumps struct {
	mu  sync.Mutex
	all []string
}

func (d *dumps) wrap(next http.RoundTripper) http.RoundTripper {
	return transportFunc(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		bytes, err := httputil.DumpResponse(response, !r.URL.Query().Has("watch"))
		d.mu.Lock()
		defer d.mu.Unlock()
		d.all = append(d.all, string(bytes))
		return response, err
	})
}

// TestAuthenticationStaysOutsideTheTap lists and watches with credentials that the client adds.
func TestAuthenticationStaysOutsideTheTap(t *testing.T) {
	f := cachetest.Formats["JSON"]
	requireToken := func(token string, next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+token {
				cachetest.ServeStatus(http.StatusUnauthorized, "")(w, r)
				return
			}
			next(w, r)
		}
	}
	t.Run("token in a file", func(t *testing.T) {
		s := cachetest.NewScript(t, []http.HandlerFunc{requireToken("secret", cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1"))))}, nil)
		s.Watches = []http.HandlerFunc{requireToken("secret", s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("b", "4"))))}
		config := s.Config()
		config.BearerTokenFile = filepath.Join("testdata", "token")
		h := cachetest.RunOverNetwork(t, cachetest.NodesOf(config), &corev1.Node{})
		h.Expect("A a@1", "A b@4")
		h.ExpectStreaming()
	})
	t.Run("token renewed after a 401", func(t *testing.T) {
		s := cachetest.NewScript(t, []http.HandlerFunc{requireToken("1", cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1"))))}, nil)
		s.Watches = []http.HandlerFunc{requireToken("2", s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("b", "4"))))}
		config := s.Config()
		cache.EnableStreaming(config)
		var token atomic.Int64
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return transportFunc(func(r *http.Request) (*http.Response, error) {
				for range 2 {
					r = r.Clone(r.Context())
					r.Header.Set("Authorization", fmt.Sprint("Bearer ", token.Load()))
					response, err := next.RoundTrip(r)
					if err != nil || response.StatusCode != http.StatusUnauthorized {
						return response, err
					}
					response.Body.Close()
					token.Add(1)
				}
				return nil, errors.New("no valid token")
			})
		})
		h := cachetest.RunOverNetwork(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
		h.Expect("A a@1", "A b@4")
		h.ExpectQuiet()
		cachetest.ExpectNext(t, s.Requests, "list@0", "list@0", "watch@3", "watch@3")
		h.ExpectStreaming()
	})
}
