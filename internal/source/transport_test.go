package source_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// TestStreamOverTransports follows a collection, large enough for its list to be
// compressed, over what there is between clients and servers.
func TestStreamOverTransports(t *testing.T) {
	for name, secure := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
			t.Run(name+" "+contentType, func(t *testing.T) {
				f, config := cachetest.NewProxy(t, secure)
				config.ContentType = contentType
				const nodes = 200
				for i := range nodes {
					n := cachetest.Node(fmt.Sprintf("node-%03d", i), "")
					n.Annotations = map[string]string{"large": strings.Repeat(fmt.Sprint(i), 1000)}
					cachetest.Must(t, f.API.Create, n)
				}
				r := cachetest.RunOverNetwork(t, cachetest.NodesOf(config), &corev1.Node{})
				for range nodes {
					cachetest.Next(t, r.Events)
				}
				last := cachetest.Node("last", "")
				cachetest.Must(t, f.API.Create, last)
				r.Expect("A " + cachetest.NameAt(last))

				// The connection goes away below a watch, in each way there is.
				f.GoAway.Store(true)
				f.CloseClientConnections()
				cachetest.Must(t, f.API.Create, cachetest.Node("after-cut", ""))
				if got := cachetest.Next(t, r.Events); !strings.HasPrefix(got, "A after-cut") {
					t.Errorf("event %s", got)
				}
				f.CloseClientConnections()
				cachetest.Must(t, f.API.Delete, last)
				r.Expect("D " + cachetest.NameAt(last))
				if s := r.Controller.Status(); s.Lists != 1 || s.Objects != nodes+1 {
					t.Errorf("%d lists, %d objects", s.Lists, s.Objects)
				}
				r.ExpectStreaming()
				if _, ok := f.Protocols.Load(name); !ok {
					t.Errorf("the requests were not made over %s", name)
				}
				if _, ok := f.Encodings.Load("gzip"); !ok {
					t.Error("nothing was compressed")
				}
			})
		}
	}
}

// TestClientTimeoutEndsAWatch: it is resumed, and nothing is wrong.
func TestClientTimeoutEndsAWatch(t *testing.T) {
	f := cachetest.Formats["protobuf"]
	s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1")))}, nil)
	s.Watches = []http.HandlerFunc{
		s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("b", "4"))),
		s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("c", "5"))),
	}
	config := s.Config()
	config.Timeout = time.Second // for the list, too, however slow the machine is
	r := cachetest.RunOverNetwork(t, cachetest.NodesOf(config), &corev1.Node{})
	r.Expect("A a@1", "A b@4", "A c@5")
	cachetest.ExpectNext(t, s.Requests, "list@0", "watch@3", "watch@4", "watch@5")
	r.ExpectQuiet()
}

// TestCancel stops an informer in every phase of its requests. Nothing is left of
// it, neither here nor at the server.
func TestCancel(t *testing.T) {
	for name, f := range cachetest.Formats {
		for _, over := range []string{"HTTP/1.1", "HTTP/2"} {
			phases := []string{"before the list's headers", "in a list", "before the watch's headers", "in an idle watch", "in an event", "in backoff"}
			for i, phase := range phases {
				t.Run(name+" "+over+" "+phase, func(t *testing.T) {
					before := goleak.IgnoreCurrent()
					s := &cachetest.Script{closing: make(chan struct{}), Requests: make(chan string, 10)}
					list, event := f.Nodes("3", cachetest.Node("a", "1")), f.Event(watch.Added, cachetest.Node("b", "4"))
					whole := cachetest.Serve(f.ListType, list)
					silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
					s.Lists = []http.HandlerFunc{[]http.HandlerFunc{silent, s.ServeOpen(f.ListType, list[:len(list)-3]), whole, whole, whole, cachetest.ServeStatus(500, "")}[i]}
					s.Watches = []http.HandlerFunc{[]http.HandlerFunc{nil, nil, silent, s.ServeOpen(f.WatchType, nil), s.ServeOpen(f.WatchType, event[:len(event)-9]), nil}[i]}
					s.Server = httptest.NewUnstartedServer(s)
					config := &rest.Config{QPS: -1}
					if over == "HTTP/2" {
						s.EnableHTTP2 = true
						s.StartTLS()
						config.Insecure = true
					} else {
						s.Start()
					}
					config.Host = s.URL
					client, err := rest.HTTPClientFor(config)
					if err != nil {
						t.Fatal(err)
					}
					r := cachetest.RunOverNetwork(t, cachetest.NodesOf(config), &corev1.Node{}, func(o *cache.ReflectorOptions) {
						o.Backoff = wait.Backoff{Duration: time.Hour, Steps: 1}
					})
					cachetest.ExpectNext(t, s.Requests, "list@0")
					switch i {
					case 2, 3, 4:
						r.Expect("A a@1")
						cachetest.ExpectNext(t, s.Requests, "watch@3")
					case 5:
						r.ExpectError()
					}
					r.End()
					r.ExpectQuiet()
					client.CloseIdleConnections()
					s.Close() // waits for answers that are not at their end
					goleak.VerifyNone(t, before)
				})
			}
		}
	}
}

// roundTripper is a transport made of a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// caching returns a transport that keeps the answers to lists.
func caching(heeds bool) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		var kept []byte
		var header http.Header
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if kept != nil && !r.URL.Query().Has("watch") {
				return &http.Response{StatusCode: http.StatusOK, Header: header.Clone(), Body: io.NopCloser(strings.NewReader(string(kept))), Request: r}, nil
			}
			response, err := next.RoundTrip(r)
			if err != nil || r.URL.Query().Has("watch") || heeds && response.Header.Get("Cache-Control") == "no-store" {
				return response, err
			}
			header = response.Header.Clone()
			if kept, err = io.ReadAll(response.Body); err != nil {
				return nil, err
			}
			response.Body.Close()
			response.Body = io.NopCloser(strings.NewReader(string(kept)))
			return response, nil
		})
	}
}

// TestCachingTransport puts a cache around the tap. What it keeps is a stand-in,
// which must never be taken for an empty collection.
func TestCachingTransport(t *testing.T) {
	f := cachetest.Formats["JSON"]
	script := func(t *testing.T) (*cachetest.Script, *rest.Config) {
		s := cachetest.NewScript(t, []http.HandlerFunc{
			cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1"))),
			cachetest.Serve(f.ListType, f.Nodes("5", cachetest.Node("a", "1"), cachetest.Node("b", "4"))),
		}, nil)
		s.Watches = []http.HandlerFunc{cachetest.ServeStatus(http.StatusGone, ""), s.ServeOpen(f.WatchType, nil)}
		return s, s.Config()
	}
	t.Run("that does not heed no-store", func(t *testing.T) {
		_, config := script(t)
		cache.EnableStreaming(config)
		config.Wrap(caching(false))
		r := cachetest.RunOverNetwork(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
		r.Expect("A a@1")
		r.ExpectError() // 410
		if err := cachetest.Next(t, r.Errors); !strings.Contains(err.Error(), "from its cache") {
			t.Errorf("error %v", err)
		}
		if len(r.Store.List()) != 1 {
			t.Errorf("the store holds %v", r.Store.ListKeys())
		}
	})
	t.Run("that does", func(t *testing.T) {
		_, config := script(t)
		cache.EnableStreaming(config)
		config.Wrap(caching(true))
		r := cachetest.RunOverNetwork(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
		r.Expect("A a@1", "A b@4")
		r.ExpectStreaming()
	})
	t.Run("between two taps", func(t *testing.T) {
		_, config := script(t)
		cache.EnableStreaming(config)
		config.Wrap(caching(true))
		cache.EnableStreaming(config)
		r := cachetest.RunOverNetwork(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
		r.Expect("A a@1")
		r.ExpectStreaming()
	})
}

// TestClientThatThrowsAnswersAway: nothing was read, which is not "nothing there".
func TestClientThatThrowsAnswersAway(t *testing.T) {
	f := cachetest.Formats["JSON"]
	s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1")))}, nil)
	config := s.Config()
	cache.EnableStreaming(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil {
				response.Body.Close()
				response.Body = io.NopCloser(strings.NewReader(`{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[]}`))
			}
			return response, err
		})
	})
	r := cachetest.RunOverNetwork(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
	if err := cachetest.Next(t, r.Errors); !strings.Contains(err.Error(), "did not read") {
		t.Errorf("error %v", err)
	}
	if r.Controller.HasSynced() {
		t.Error("synced with nothing")
	}
}

// TestTracingTransports see what is theirs: those outside the stand-in, those
// inside the server's bytes.
func TestTracingTransports(t *testing.T) {
	f := cachetest.Formats["protobuf"]
	s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1")))}, nil)
	s.Watches = []http.HandlerFunc{s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("b", "4")))}
	var mu sync.Mutex
	var dumped []string
	dump := func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err != nil {
				return nil, err
			}
			bytes, err := httputil.DumpResponse(response, !r.URL.Query().Has("watch"))
			mu.Lock()
			defer mu.Unlock()
			dumped = append(dumped, string(bytes))
			return response, err
		})
	}
	config := s.Config()
	config.Wrap(dump)
	cache.EnableStreaming(config)
	config.Wrap(dump)
	r := cachetest.RunOverNetwork(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
	r.Expect("A a@1", "A b@4")
	r.ExpectStreaming()
	mu.Lock()
	defer mu.Unlock()
	if len(dumped) != 4 || !strings.Contains(dumped[0], "uid-a") || strings.Contains(dumped[1], "uid-a") || !strings.Contains(dumped[1], `"resourceVersion":"3"`) {
		t.Errorf("dumped %q", dumped)
	}
}

// TestCredentials: the client's authentication stays outside the tap.
func TestCredentials(t *testing.T) {
	f := cachetest.Formats["JSON"]
	guarded := func(token string, answer http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+token {
				cachetest.ServeStatus(http.StatusUnauthorized, "")(w, r)
				return
			}
			answer(w, r)
		}
	}
	t.Run("a token in a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := cachetest.NewScript(t, []http.HandlerFunc{guarded("secret", cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1"))))}, nil)
		s.Watches = []http.HandlerFunc{guarded("secret", s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("b", "4"))))}
		config := s.Config()
		config.BearerTokenFile = file
		r := cachetest.RunOverNetwork(t, cachetest.NodesOf(config), &corev1.Node{})
		r.Expect("A a@1", "A b@4")
		r.ExpectStreaming()
	})
	t.Run("a token that is renewed after a 401", func(t *testing.T) {
		s := cachetest.NewScript(t, []http.HandlerFunc{guarded("1", cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1"))))}, nil)
		s.Watches = []http.HandlerFunc{guarded("2", s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("b", "4"))))}
		config := s.Config()
		cache.EnableStreaming(config)
		var token atomic.Int64
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
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
				return nil, fmt.Errorf("no token is good")
			})
		})
		r := cachetest.RunOverNetwork(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
		r.Expect("A a@1", "A b@4")
		r.ExpectQuiet()
		cachetest.ExpectNext(t, s.Requests, "list@0", "list@0", "watch@3", "watch@3")
		r.ExpectStreaming()
	})
}
