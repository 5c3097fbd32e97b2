package cache_test

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
)

// front is a proxy before a fake API server, which notes how it was asked.
type front struct {
	*httptest.Server
	api       *fake.APIServer
	protocols sync.Map // r.Proto
	encodings sync.Map // of answers
	goAway    atomic.Bool
}

func newFront(t *testing.T, secure bool) (*front, *rest.Config) {
	t.Helper()
	api, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(api.URL())
	if err != nil {
		t.Fatal(err)
	}
	f := &front{api: api}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		ModifyResponse: func(response *http.Response) error {
			f.encodings.Store(response.Header.Get("Content-Encoding"), true)
			if f.goAway.Load() {
				response.Header.Set("Connection", "close") // in HTTP/2, GOAWAY
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.protocols.Store(r.Proto, true)
		proxy.ServeHTTP(w, r)
	}))
	config := &rest.Config{QPS: -1}
	if secure {
		f.EnableHTTP2 = true
		f.StartTLS()
		config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
	} else {
		f.Start()
	}
	config.Host = f.URL
	t.Cleanup(func() {
		f.Close()
		if err := api.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return f, config
}

// TestStreamOverTransports follows a collection, large enough for its list to be
// compressed, over what there is between clients and servers.
func TestStreamOverTransports(t *testing.T) {
	for name, secure := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
			t.Run(name+" "+contentType, func(t *testing.T) {
				f, config := newFront(t, secure)
				config.ContentType = contentType
				const nodes = 200
				for i := range nodes {
					n := aNode(fmt.Sprintf("node-%03d", i), "")
					n.Annotations = map[string]string{"large": strings.Repeat(fmt.Sprint(i), 1000)}
					mustDo(t, f.api.Create, n)
				}
				r := runOver(t, nodesOf(config), &corev1.Node{})
				for range nodes {
					next(t, r.events)
				}
				last := aNode("last", "")
				mustDo(t, f.api.Create, last)
				r.expect("A " + nameAt(last))

				// The connection goes away below a watch, in each way there is.
				f.goAway.Store(true)
				f.CloseClientConnections()
				mustDo(t, f.api.Create, aNode("after-cut", ""))
				if got := next(t, r.events); !strings.HasPrefix(got, "A after-cut") {
					t.Errorf("event %s", got)
				}
				f.CloseClientConnections()
				mustDo(t, f.api.Delete, last)
				r.expect("D " + nameAt(last))
				if s := r.controller.Status(); s.Lists != 1 || s.Objects != nodes+1 {
					t.Errorf("%d lists, %d objects", s.Lists, s.Objects)
				}
				r.expectStreaming()
				if _, ok := f.protocols.Load(name); !ok {
					t.Errorf("the requests were not made over %s", name)
				}
				if _, ok := f.encodings.Load("gzip"); !ok {
					t.Error("nothing was compressed")
				}
			})
		}
	}
}

func mustDo(t *testing.T, do func(fake.Object) error, obj fake.Object) {
	t.Helper()
	if err := do(obj); err != nil {
		t.Fatal(err)
	}
}

// TestClientTimeoutEndsAWatch: it is resumed, and nothing is wrong.
func TestClientTimeoutEndsAWatch(t *testing.T) {
	f := formats["protobuf"]
	s := newScript(t, []http.HandlerFunc{serve(f.list, f.nodes("3", aNode("a", "1")))}, nil)
	s.watches = []http.HandlerFunc{
		s.serveOpen(f.watch, f.event(watch.Added, aNode("b", "4"))),
		s.serveOpen(f.watch, f.event(watch.Added, aNode("c", "5"))),
	}
	config := s.config()
	config.Timeout = time.Second // for the list, too, however slow the machine is
	r := runOver(t, nodesOf(config), &corev1.Node{})
	r.expect("A a@1", "A b@4", "A c@5")
	expectNext(t, s.requests, "list@0", "watch@3", "watch@4", "watch@5")
	r.expectQuiet()
}

// TestCancel stops an informer in every phase of its requests. Nothing is left of
// it, neither here nor at the server.
func TestCancel(t *testing.T) {
	for name, f := range formats {
		for _, over := range []string{"HTTP/1.1", "HTTP/2"} {
			phases := []string{"before the list's headers", "in a list", "before the watch's headers", "in an idle watch", "in an event", "in backoff"}
			for i, phase := range phases {
				t.Run(name+" "+over+" "+phase, func(t *testing.T) {
					before := goleak.IgnoreCurrent()
					s := &script{closing: make(chan struct{}), requests: make(chan string, 10)}
					list, event := f.nodes("3", aNode("a", "1")), f.event(watch.Added, aNode("b", "4"))
					whole := serve(f.list, list)
					silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
					s.lists = []http.HandlerFunc{[]http.HandlerFunc{silent, s.serveOpen(f.list, list[:len(list)-3]), whole, whole, whole, serveStatus(500, "")}[i]}
					s.watches = []http.HandlerFunc{[]http.HandlerFunc{nil, nil, silent, s.serveOpen(f.watch, nil), s.serveOpen(f.watch, event[:len(event)-9]), nil}[i]}
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
					r := runOver(t, nodesOf(config), &corev1.Node{}, func(o *cache.ReflectorOptions) {
						o.Backoff = wait.Backoff{Duration: time.Hour, Steps: 1}
					})
					expectNext(t, s.requests, "list@0")
					switch i {
					case 2, 3, 4:
						r.expect("A a@1")
						expectNext(t, s.requests, "watch@3")
					case 5:
						r.expectError()
					}
					r.end()
					r.expectQuiet()
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
	f := formats["JSON"]
	script := func(t *testing.T) (*script, *rest.Config) {
		s := newScript(t, []http.HandlerFunc{
			serve(f.list, f.nodes("3", aNode("a", "1"))),
			serve(f.list, f.nodes("5", aNode("a", "1"), aNode("b", "4"))),
		}, nil)
		s.watches = []http.HandlerFunc{serveStatus(http.StatusGone, ""), s.serveOpen(f.watch, nil)}
		return s, s.config()
	}
	t.Run("that does not heed no-store", func(t *testing.T) {
		_, config := script(t)
		cache.EnableStreaming(config)
		config.Wrap(caching(false))
		r := runOver(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
		r.expect("A a@1")
		r.expectError() // 410
		if err := next(t, r.errs); !strings.Contains(err.Error(), "from its cache") {
			t.Errorf("error %v", err)
		}
		if len(r.store.List()) != 1 {
			t.Errorf("the store holds %v", r.store.ListKeys())
		}
	})
	t.Run("that does", func(t *testing.T) {
		_, config := script(t)
		cache.EnableStreaming(config)
		config.Wrap(caching(true))
		r := runOver(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
		r.expect("A a@1", "A b@4")
		r.expectStreaming()
	})
	t.Run("between two taps", func(t *testing.T) {
		_, config := script(t)
		cache.EnableStreaming(config)
		config.Wrap(caching(true))
		cache.EnableStreaming(config)
		r := runOver(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
		r.expect("A a@1")
		r.expectStreaming()
	})
}

// TestClientThatThrowsAnswersAway: nothing was read, which is not "nothing there".
func TestClientThatThrowsAnswersAway(t *testing.T) {
	f := formats["JSON"]
	s := newScript(t, []http.HandlerFunc{serve(f.list, f.nodes("3", aNode("a", "1")))}, nil)
	config := s.config()
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
	r := runOver(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
	if err := next(t, r.errs); !strings.Contains(err.Error(), "did not read") {
		t.Errorf("error %v", err)
	}
	if r.controller.HasSynced() {
		t.Error("synced with nothing")
	}
}

// TestTracingTransports see what is theirs: those outside the stand-in, those
// inside the server's bytes.
func TestTracingTransports(t *testing.T) {
	f := formats["protobuf"]
	s := newScript(t, []http.HandlerFunc{serve(f.list, f.nodes("3", aNode("a", "1")))}, nil)
	s.watches = []http.HandlerFunc{s.serveOpen(f.watch, f.event(watch.Added, aNode("b", "4")))}
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
	config := s.config()
	config.Wrap(dump)
	cache.EnableStreaming(config)
	config.Wrap(dump)
	r := runOver(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
	r.expect("A a@1", "A b@4")
	r.expectStreaming()
	mu.Lock()
	defer mu.Unlock()
	if len(dumped) != 4 || !strings.Contains(dumped[0], "uid-a") || strings.Contains(dumped[1], "uid-a") || !strings.Contains(dumped[1], `"resourceVersion":"3"`) {
		t.Errorf("dumped %q", dumped)
	}
}

// TestCredentials: the client's authentication stays outside the tap.
func TestCredentials(t *testing.T) {
	f := formats["JSON"]
	guarded := func(token string, answer http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+token {
				serveStatus(http.StatusUnauthorized, "")(w, r)
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
		s := newScript(t, []http.HandlerFunc{guarded("secret", serve(f.list, f.nodes("3", aNode("a", "1"))))}, nil)
		s.watches = []http.HandlerFunc{guarded("secret", s.serveOpen(f.watch, f.event(watch.Added, aNode("b", "4"))))}
		config := s.config()
		config.BearerTokenFile = file
		r := runOver(t, nodesOf(config), &corev1.Node{})
		r.expect("A a@1", "A b@4")
		r.expectStreaming()
	})
	t.Run("a token that is renewed after a 401", func(t *testing.T) {
		s := newScript(t, []http.HandlerFunc{guarded("1", serve(f.list, f.nodes("3", aNode("a", "1"))))}, nil)
		s.watches = []http.HandlerFunc{guarded("2", s.serveOpen(f.watch, f.event(watch.Added, aNode("b", "4"))))}
		config := s.config()
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
		r := runOver(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
		r.expect("A a@1", "A b@4")
		r.expectQuiet()
		expectNext(t, s.requests, "list@0", "list@0", "watch@3", "watch@3")
		r.expectStreaming()
	})
}

// serveStatus answers with an error, as API servers do.
func serveStatus(code int, retryAfter string, reason ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"as the test says","reason":%q,"code":%d}`, slices.Concat(reason, []string{""})[0], code)
	}
}
