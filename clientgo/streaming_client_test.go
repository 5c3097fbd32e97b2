// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	clientfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	restfake "k8s.io/client-go/rest/fake"
	clientcache "k8s.io/client-go/tools/cache"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestFactoriesStreamByDefault checks that the informers of factories stream although the program
// has not prepared its clients, that the clients remain as they are, and that functions of the
// program receive them.
func TestFactoriesStreamByDefault(t *testing.T) {
	config := startCluster(t)
	client := kubernetes.NewForConfigOrDie(config)
	before := *client.CoreV1().RESTClient().(*rest.RESTClient).Client
	factory := plain.NewSharedInformerFactory(client, 0)
	generic, err := factory.ForResource(corev1.SchemeGroupVersion.WithResource("configmaps"))
	if err != nil {
		t.Fatal(err)
	}
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	informers := informersOf(config, clientgo.Options{})
	informers["ForResource"] = generic.Informer()
	informers["dynamic, without a factory"] = plain.NewFilteredDynamicInformer(dynamic.NewForConfigOrDie(config), pods, "", 0, nil, nil).Informer()
	informers["metadata, without a factory"] = plain.Metadata().NewFilteredMetadataInformer(metadata.NewForConfigOrDie(config), pods, "", 0, nil, nil).Informer()
	for name, informer := range informers {
		expectStreaming(t, name, informer, "")
	}
	ofProgram := factory.InformerFor(&corev1.Pod{}, func(received kubernetes.Interface, resync time.Duration) clientcache.SharedIndexInformer {
		if received != client {
			t.Errorf("a function of the program receives %p, want its client %p", received, client)
		}
		return coreinformers.NewPodInformer(received, "", resync, nil)
	})
	expectStreaming(t, "a function of the program", ofProgram, "set Streaming")
	if after := *client.CoreV1().RESTClient().(*rest.RESTClient).Client; !reflect.DeepEqual(after, before) {
		t.Errorf("the program's client has %+v, had %+v", after, before)
	}
}

// expectStreaming runs an informer until it has synced. It checks that the informer streams or, if
// a reason is given, that it does not for that reason.
func expectStreaming(t *testing.T, name string, informer clientcache.SharedIndexInformer, reason string) {
	t.Helper()
	stop := background(t, informer.RunWithContext)
	defer stop()
	select {
	case <-informer.HasSyncedChecker().Done():
	case <-time.After(cachetest.Timeout):
		t.Fatalf("%s has not synced: %v", name, clientgo.StatusOf(informer).Err)
	}
	status := clientgo.StatusOf(informer)
	if status.Requests.Streaming != (reason == "") || !strings.Contains(status.Requests.NotStreamingReason, reason) {
		t.Errorf("%s: streaming is %v, %q; want the reason %q", name, status.Requests.Streaming, status.Requests.NotStreamingReason, reason)
	}
}

// Clientset is like those that client-gen makes for the resources of a program.
type Clientset struct {
	*discovery.DiscoveryClient

	exampleV1 *ExampleV1Client
}

// ExampleV1Client is the client of a version of an API group. Its only resource are Pods.
type ExampleV1Client struct{ restClient rest.Interface }

func (c *Clientset) ExampleV1() rest.Interface { return c.exampleV1.restClient }

type exampleClient interface{ ExampleV1() rest.Interface }

// exampleFactory is like those that informer-gen makes.
type exampleFactory struct{ client exampleClient }

func (f *exampleFactory) Start(<-chan struct{}) {}

func (f *exampleFactory) InformerFor(_ runtime.Object, newFunc newExampleInformer) clientcache.SharedIndexInformer {
	return newFunc(f.client, 0)
}

type newExampleInformer func(exampleClient, time.Duration) clientcache.SharedIndexInformer

func newExamplePods(client exampleClient, resync time.Duration) clientcache.SharedIndexInformer {
	return newInformerOf(client, "pods", &corev1.Pod{}, resync)
}

func newInformerOf(client exampleClient, resource string, example runtime.Object, resync time.Duration) clientcache.SharedIndexInformer {
	return clientcache.NewSharedIndexInformer(&clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.ExampleV1().Get().Resource(resource).VersionedParams(&options, scheme.ParameterCodec).Do(ctx).Get()
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			return client.ExampleV1().Get().Resource(resource).VersionedParams(&options, scheme.ParameterCodec).Watch(ctx)
		},
	}, example, resync, nil)
}

// otherClientset has another name than client-gen's, and may be anything.
type otherClientset struct{ exampleV1 *ExampleV1Client }

func (c *otherClientset) ExampleV1() rest.Interface { return c.exampleV1.restClient }

// embeddingClient is a client of the program.
type embeddingClient struct{ kubernetes.Interface }

// TestClientsOfPrograms covers clients of other types than client-go's: one of client-gen's is
// copied, and the others are used as they are.
func TestClientsOfPrograms(t *testing.T) {
	config := startCluster(t)
	client := kubernetes.NewForConfigOrDie(config)
	generated := &Clientset{client.DiscoveryClient, &ExampleV1Client{client.CoreV1().RESTClient()}}
	ofGenerated := func(client exampleClient) clientcache.SharedIndexInformer {
		return clientgo.Generated(&exampleFactory{client: client}, clientgo.Options{}).InformerFor(&corev1.Pod{}, newExamplePods)
	}
	expectStreaming(t, "generated", ofGenerated(generated), "")
	if generated.exampleV1.restClient != client.CoreV1().RESTClient() {
		t.Error("the program's clientset has another REST client")
	}
	tapped := rest.CopyConfig(config)
	cache.EnableStreaming(tapped)
	ofTyped := func(client kubernetes.Interface) clientcache.SharedIndexInformer {
		return plain.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()
	}
	expectStreaming(t, "prepared", ofTyped(kubernetes.NewForConfigOrDie(tapped)), "")
	expectStreaming(t, "prepared and embedded", ofTyped(embeddingClient{kubernetes.NewForConfigOrDie(tapped)}), "")
	const reason = "not one of client-go's or client-gen's"
	expectStreaming(t, "embedded", ofTyped(embeddingClient{client}), "clientgo_test.embeddingClient, "+reason)
	expectStreaming(t, "of another name", ofGenerated(&otherClientset{generated.exampleV1}), reason)
	expectStreaming(t, "embedded, generated", ofGenerated(&struct{ *Clientset }{generated}), reason)
	expectStreaming(t, "fake", ofTyped(clientfake.NewClientset()), "*fake.Clientset, "+reason)
	fakeDynamic := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
	expectStreaming(t, "fake, dynamic", plain.NewDynamicSharedInformerFactory(fakeDynamic, 0).ForResource(podResource).Informer(), reason)

	endless := rest.CopyConfig(config)
	endless.Wrap(func(next http.RoundTripper) http.RoundTripper { return selfWrapping{next} })
	expectStreaming(t, "a transport that wraps itself", ofTyped(kubernetes.NewForConfigOrDie(endless)), "")
	answer := restfake.CreateHTTPClient(func(*http.Request) (*http.Response, error) {
		return respond(http.StatusOK, `{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}}`), nil
	})
	fakeREST := &restfake.RESTClient{Client: answer, NegotiatedSerializer: scheme.Codecs.WithoutConversion(), GroupVersion: corev1.SchemeGroupVersion}
	expectStreaming(t, "a fake of the REST client", ofGenerated(&Clientset{exampleV1: &ExampleV1Client{fakeREST}}), "REST client is a *fake.RESTClient")

	// These have nothing to send requests with, so that their informers are only made.
	ofTyped(nil)
	ofTyped((*kubernetes.Clientset)(nil))
	ofTyped(kubernetes.New(nil))
	ofTyped(&kubernetes.Clientset{})
	ofGenerated(nil)
	ofGenerated(&Clientset{})
	plain.NewDynamicSharedInformerFactory(&dynamic.DynamicClient{}, 0)
	plain.NewDynamicSharedInformerFactory(nil, 0)
	plain.Metadata().NewSharedInformerFactory(&metadata.Client{}, 0)
	plain.Metadata().NewSharedInformerFactory((*metadata.Client)(nil), 0)
}

// selfWrapping is a transport that says that it wraps itself.
type selfWrapping struct{ http.RoundTripper }

func (t selfWrapping) WrappedRoundTripper() http.RoundTripper { return t }

// frontServer passes requests on to a fake API server, after it has recorded those for Pods. It
// refuses WatchLists, so that informers list.
type frontServer struct {
	*httptest.Server

	api         http.Handler
	connections atomic.Int64

	mu   sync.Mutex // guards pods
	pods []*http.Request
}

func startFront(t *testing.T, secure bool) (*frontServer, *rest.Config) {
	t.Helper()
	api := cachetest.StartAPIServer(t, fake.APIServerOptions{})
	for i := range 20 {
		cachetest.Must(t, api.Create, cachetest.Pod(fmt.Sprintf("pod-%d", i)))
	}
	f := &frontServer{api: api}
	f.Server = httptest.NewUnstartedServer(f)
	f.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			f.connections.Add(1)
		}
	}
	t.Cleanup(f.Close)
	if !secure {
		f.Start()
		return f, &rest.Config{Host: f.URL}
	}
	f.EnableHTTP2, f.TLS = true, &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	f.StartTLS()
	config := &rest.Config{Host: f.URL}
	config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
	return f, config
}

func (f *frontServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/v1/pods" {
		f.mu.Lock()
		f.pods = append(f.pods, r)
		f.mu.Unlock()
	}
	w.Header().Set("Warning", `299 - "of the server"`)
	if r.URL.Query().Has("sendInitialEvents") {
		http.Error(w, "not supported", http.StatusBadRequest)
		return
	}
	f.api.ServeHTTP(w, r)
}

// recorded returns the requests for Pods.
func (f *frontServer) recorded() []*http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.pods)
}

// TestCopiedClientSendsTheProgramsRequests checks, for what a program may configure, that the
// requests of an informer are made as those of the program's client, which is in use meanwhile.
func TestCopiedClientSendsTheProgramsRequests(t *testing.T) {
	hasHeader := func(name, value string) func(*http.Request) bool {
		return func(r *http.Request) bool { return r.Header.Get(name) == value }
	}
	for name, c := range map[string]struct {
		configure func(t *testing.T, f *frontServer, config *rest.Config)
		sent      func(*http.Request) bool
	}{
		"HTTP/2":     {func(*testing.T, *frontServer, *rest.Config) {}, func(r *http.Request) bool { return r.ProtoMajor == 2 }},
		"HTTP/1.1":   {func(_ *testing.T, _ *frontServer, c *rest.Config) { c.NextProtos = []string{"http/1.1"} }, func(r *http.Request) bool { return r.ProtoMajor == 1 }},
		"user agent": {func(_ *testing.T, _ *frontServer, c *rest.Config) { c.UserAgent = "program" }, hasHeader("User-Agent", "program")},
		"impersonation": {func(_ *testing.T, _ *frontServer, c *rest.Config) {
			c.Impersonate.UserName = "jane"
		}, hasHeader("Impersonate-User", "jane")},
		"wrapper": {func(_ *testing.T, _ *frontServer, c *rest.Config) {
			c.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					r = r.Clone(r.Context())
					r.Header.Set("Wrapped", "by the program")
					return next.RoundTrip(r)
				})
			})
		}, hasHeader("Wrapped", "by the program")},
		"token file": {func(t *testing.T, _ *frontServer, c *rest.Config) {
			c.BearerTokenFile = filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(c.BearerTokenFile, []byte("of-file"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, hasHeader("Authorization", "Bearer of-file")},
		"exec plugin": {func(_ *testing.T, _ *frontServer, c *rest.Config) {
			const credential = `{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "of-plugin"}}`
			c.ExecProvider = &clientcmdapi.ExecConfig{
				Command: "/bin/sh", Args: []string{"-c", "echo '" + credential + "'"},
				APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
			}
		}, hasHeader("Authorization", "Bearer of-plugin")},
		"client certificate": {func(t *testing.T, f *frontServer, c *rest.Config) {
			key, err := x509.MarshalPKCS8PrivateKey(f.TLS.Certificates[0].PrivateKey)
			if err != nil {
				t.Fatal(err)
			}
			c.KeyData = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
			c.CertData = c.CAData
		}, func(r *http.Request) bool { return len(r.TLS.PeerCertificates) == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			front, config := startFront(t, true)
			c.configure(t, front, config)
			client := kubernetes.NewForConfigOrDie(config)
			use := func(ctx context.Context) {
				_, _ = client.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
			}
			use(t.Context())                                  // before others, which would dial as well
			stop := background(t, func(ctx context.Context) { // the race detector watches
				for ctx.Err() == nil {
					use(ctx)
				}
			})
			expectStreaming(t, name, plain.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer(), "")
			stop()
			requests := front.recorded()
			for _, r := range requests {
				if !c.sent(r) {
					t.Errorf("the request %s %s has the headers %v", r.Proto, r.URL, r.Header)
				}
			}
			if n := front.connections.Load(); len(requests) == 0 || n > 1 && requests[0].ProtoMajor == 2 {
				t.Errorf("%d requests by %d connections, want one connection", len(requests), n)
			}
		})
	}
}

// TestCopiedClientFollowsTheTokenFile changes the file of a token while an informer runs. client-go
// reads it once a minute.
func TestCopiedClientFollowsTheTokenFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, last := cachetest.StartAPIServer(t, fake.APIServerOptions{InMemory: true}).Config(), atomic.Value{}
		config.BearerTokenFile = filepath.Join(t.TempDir(), "token")
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				last.Store(r.Header.Get("Authorization"))
				return next.RoundTrip(r)
			})
		})
		write := func(token string) {
			if err := os.WriteFile(config.BearerTokenFile, []byte(token), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("first")
		informer := plain.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0).Core().V1().Pods().Informer()
		background(t, informer.RunWithContext)
		cachetest.Advance(time.Minute)
		before := last.Load()
		write("second")
		cachetest.Advance(time.Hour) // the server closes watches meanwhile
		if after := last.Load(); before != "Bearer first" || after != "Bearer second" || !clientgo.StatusOf(informer).Requests.Streaming {
			t.Errorf("the requests have %v, and then %v; %+v", before, after, clientgo.StatusOf(informer))
		}
	})
}

// TestCopiedClientUsesTheProgramsProxy has a proxy of an address that cannot be reached otherwise.
func TestCopiedClientUsesTheProgramsProxy(t *testing.T) {
	front, config := startFront(t, false)
	proxy, err := url.Parse(front.URL)
	if err != nil {
		t.Fatal(err)
	}
	config.Host, config.Proxy = "http://api.invalid", http.ProxyURL(proxy)
	expectStreaming(t, "proxy", plain.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0).Core().V1().Pods().Informer(), "")
	for _, r := range front.recorded() {
		if r.Host != "api.invalid" {
			t.Errorf("a request for %s", r.Host)
		}
	}
}

// countingLimiter counts the requests that it lets pass.
type countingLimiter struct {
	flowcontrol.RateLimiter

	n atomic.Int64
}

func (l *countingLimiter) Wait(context.Context) error {
	l.n.Add(1)
	return nil
}

// warnings receives the server's warnings.
type warnings struct{ n atomic.Int64 }

func (w *warnings) HandleWarningHeaderWithContext(context.Context, int, string, string) { w.n.Add(1) }

// TestCopiedClientSharesLimiterAndWarnings checks that the informer's requests count for the rate
// limiter and the warning handler of the program's client, and follow a transport that the program
// sets later.
func TestCopiedClientSharesLimiterAndWarnings(t *testing.T) {
	front, config := startFront(t, false)
	limiter, handler := &countingLimiter{}, &warnings{}
	config.RateLimiter, config.WarningHandlerWithContext = limiter, handler
	client := kubernetes.NewForConfigOrDie(config)
	informer := plain.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()
	own := client.CoreV1().RESTClient().(*rest.RESTClient).Client
	before, passed := own.Transport, atomic.Int64{}
	own.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		passed.Add(1)
		return before.RoundTrip(r)
	})
	expectStreaming(t, "shared", informer, "")
	sent := int64(len(front.recorded()))
	if limiter.n.Load() == 0 || handler.n.Load() == 0 || sent == 0 || passed.Load() < sent {
		t.Errorf("of %d requests, %d passed the transport; %d lists passed the rate limiter, and %d had a warning", sent, passed.Load(), limiter.n.Load(), handler.n.Load())
	}
}

// TestFactoriesOfOneClientShareProbes starts ten factories of one client with StartConsistent, on a
// server without WatchList.
func TestFactoriesOfOneClientShareProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := cachetest.StartAPIServer(t, fake.APIServerOptions{InMemory: true, NoWatchTimeout: true})
		config, probes := server.Config(), atomic.Int64{}
		withoutWatchLists(config, func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("limit") == "1" {
				probes.Add(1)
				<-time.After(time.Second) // so that the others start meanwhile
			}
			return next.RoundTrip(r)
		})
		client, constructors := kubernetes.NewForConfigOrDie(config), clientgo.With(clientgo.Options{StartConsistent: true})
		for i := range 10 {
			namespace := constructors.WithNamespace(fmt.Sprintf("ns-%d", i))
			informer := constructors.NewSharedInformerFactoryWithOptions(client, 0, namespace).Core().V1().Pods().Informer()
			background(t, informer.RunWithContext)
		}
		cachetest.Advance(time.Minute)
		if n := probes.Load(); n != 2 {
			t.Errorf("%d probes were sent, want that of the first informer and one for the others", n)
		}
	})
}

// TestCopiesLiveAsLongAsTheirFactories makes factories of clients that are dropped, with transports
// that refer to them.
func TestCopiesLiveAsLongAsTheirFactories(t *testing.T) {
	before := clientgo.CopiedClients()
	for range 100 {
		own := &owningTransport{}
		config := &rest.Config{Host: "http://127.0.0.1:1"}
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			own.RoundTripper = next
			return own
		})
		own.client = kubernetes.NewForConfigOrDie(config)
		plain.NewSharedInformerFactory(own.client, 0).Core().V1().Pods().Informer()
		plain.NewDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(config), 0).ForResource(podResource)
	}
	for deadline := time.Now().Add(cachetest.Timeout); clientgo.CopiedClients() > before; goruntime.Gosched() {
		goruntime.GC()
		if time.Now().After(deadline) {
			t.Fatalf("%d clients are copied, want %d", clientgo.CopiedClients(), before)
		}
	}
}

// owningTransport refers to the client that uses it.
type owningTransport struct {
	http.RoundTripper

	client *kubernetes.Clientset
}

// TestOverwrittenClientIsCopiedAgain overwrites a client in place, as a program may do when it
// reloads its kubeconfig.
func TestOverwrittenClientIsCopiedAgain(t *testing.T) {
	config := startCluster(t)
	_, front := startFront(t, false)
	client := *kubernetes.NewForConfigOrDie(config)
	first := plain.NewSharedInformerFactory(&client, 0).Core().V1().Pods().Informer()
	expectStreaming(t, "first", first, "")
	client = *kubernetes.NewForConfigOrDie(front)
	second := plain.NewSharedInformerFactory(&client, 0).Core().V1().Pods().Informer()
	expectStreaming(t, "second", second, "")
	if before, after := len(first.GetStore().ListKeys()), len(second.GetStore().ListKeys()); before != 2 || after != 20 {
		t.Errorf("%d objects of the first server, and %d of the second", before, after)
	}
	type other Clientset
	generated := &Clientset{exampleV1: &ExampleV1Client{client.CoreV1().RESTClient()}}
	for _, client := range []any{generated, (*other)(generated), generated} { // at one address
		clientgo.Generated(&anyFactory{client: client}, clientgo.Options{}).InformerFor(&corev1.Pod{}, func(received any, resync time.Duration) clientcache.SharedIndexInformer {
			if reflect.TypeOf(received) != reflect.TypeOf(client) {
				t.Errorf("a function receives a %T, want a %T", received, client)
			}
			return newExamplePods(generated, resync)
		})
	}
}

// anyFactory is a generated factory whose clients have any type.
type anyFactory struct{ client any }

func (f *anyFactory) Start(<-chan struct{}) {}

func (f *anyFactory) InformerFor(_ runtime.Object, newFunc func(any, time.Duration) clientcache.SharedIndexInformer) clientcache.SharedIndexInformer {
	return newFunc(f.client, 0)
}

// TestClientWithCodecOfProgramDecodes has a codec that sets defaults.
func TestClientWithCodecOfProgramDecodes(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	scheme.AddTypeDefaultingFunc(&corev1.PodList{}, func(list any) {
		for i := range list.(*corev1.PodList).Items {
			list.(*corev1.PodList).Items[i].Spec.SchedulerName = "default"
		}
	})
	_, config := startFront(t, false)
	config.APIPath, config.GroupVersion, config.NegotiatedSerializer = "/api", &corev1.SchemeGroupVersion, serializer.NewCodecFactory(scheme)
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	informer := plain.NewSharedInformerFactory(kubernetes.New(client), 0).Core().V1().Pods().Informer()
	expectStreaming(t, "codec", informer, "set defaults")
	for _, pod := range informer.GetStore().List() {
		if name := pod.(*corev1.Pod).Spec.SchedulerName; name != "default" {
			t.Errorf("the scheduler is %q", name)
		}
	}
}

// TestClientThatAcceptsJSONAloneReceivesIt has a server that fails to encode protobuf.
func TestClientThatAcceptsJSONAloneReceivesIt(t *testing.T) {
	config := startCluster(t)
	config.AcceptContentTypes = runtime.ContentTypeJSON
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.Contains(r.Header.Get("Accept"), "protobuf") {
				return respond(http.StatusNotAcceptable, "no protobuf"), nil
			}
			return next.RoundTrip(r)
		})
	})
	expectStreaming(t, "JSON", plain.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0).Core().V1().Pods().Informer(), "")
}

// withoutWatchLists refuses WatchLists, and passes the list requests of a config to a function.
func withoutWatchLists(config *rest.Config, list func(next http.RoundTripper, r *http.Request) (*http.Response, error)) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			switch query := r.URL.Query(); {
			case query.Has("sendInitialEvents"):
				return respond(http.StatusBadRequest, "not supported"), nil
			case query.Has("watch"):
				return next.RoundTrip(r)
			}
			return list(next, r)
		})
	})
}

// serverOfLargePods returns a config for a server in memory.
func serverOfLargePods(t *testing.T, objects int) *rest.Config {
	t.Helper()
	server := cachetest.StartAPIServer(t, fake.APIServerOptions{InMemory: true, NoWatchTimeout: true})
	for i := range objects {
		pod := cachetest.Pod(fmt.Sprintf("pod-%d", i))
		pod.Annotations = map[string]string{"data": strings.Repeat("x", 1<<10)}
		cachetest.Must(t, server.Create, pod)
	}
	return server.Config()
}

// TestProbesOfOtherResourcesAreNotShared has informers of two resources with one Go type.
func TestProbesOfOtherResourcesAreNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, probes := serverOfLargePods(t, 1), map[string]bool{}
		withoutWatchLists(config, func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("limit") == "1" {
				probes[r.URL.Path] = true
				<-time.After(time.Second)
			}
			return next.RoundTrip(r)
		})
		client := kubernetes.NewForConfigOrDie(config)
		generated := &Clientset{client.DiscoveryClient, &ExampleV1Client{client.CoreV1().RESTClient()}}
		for _, resource := range []string{"pods", "pods", "podtemplates"} { // the second one waits to send its probe
			informer := clientgo.Generated(&exampleFactory{client: generated}, clientgo.Options{StartConsistent: true}).
				InformerFor(&corev1.Pod{}, func(client exampleClient, resync time.Duration) clientcache.SharedIndexInformer {
					return newInformerOf(client, resource, &corev1.Pod{}, resync)
				})
			background(t, informer.RunWithContext)
			cachetest.Advance(100 * time.Millisecond)
		}
		cachetest.Advance(time.Minute)
		if len(probes) != 2 {
			t.Errorf("probes of %v", probes)
		}
	})
}

func respond(code int, body string) *http.Response {
	header := http.Header{"Content-Type": {runtime.ContentTypeJSON}}
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader(body))}
}

// roundTripper is a transport of the program.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
