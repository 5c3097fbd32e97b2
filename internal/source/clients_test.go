package source_test

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/cachetest"
)

var nodeResource = corev1.SchemeGroupVersion.WithResource("nodes")

// closures returns a ListWatch of functions as generated informers have them.
func closures(client kubernetes.Interface, streaming bool) *cache.ListWatch {
	return &cache.ListWatch{
		Streaming: streaming,
		ListFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Nodes().List(ctx, options)
		},
		WatchFunc: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Nodes().Watch(ctx, options)
		},
	}
}

// restClient returns a client of core/v1.
func restClient(t *testing.T, config *rest.Config) *rest.RESTClient {
	t.Helper()
	client, ok := kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient().(*rest.RESTClient)
	if !ok {
		t.Fatal("no RESTClient")
	}
	return client
}

// TestTypedClients follows nodes through every typed client that there is.
func TestTypedClients(t *testing.T) {
	for name, test := range map[string]struct {
		lw  func(t *testing.T, config *rest.Config) *cache.ListWatch
		why string // that it does not stream
	}{
		"clientset": {func(_ *testing.T, config *rest.Config) *cache.ListWatch { return cachetest.NodesOf(config) }, ""},
		"clientset for protobuf": {func(_ *testing.T, config *rest.Config) *cache.ListWatch {
			config.ContentType = runtime.ContentTypeProtobuf
			return cachetest.NodesOf(config)
		}, ""},
		"enabled twice": {func(_ *testing.T, config *rest.Config) *cache.ListWatch {
			cache.EnableStreaming(config)
			return cachetest.NodesOf(config)
		}, ""},
		"not enabled": {func(_ *testing.T, config *rest.Config) *cache.ListWatch {
			return cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes())
		}, "EnableStreaming"},
		"RESTClient, not enabled": {func(t *testing.T, config *rest.Config) *cache.ListWatch {
			t.Helper()
			return cache.NewListWatchFromClient(restClient(t, config), "nodes", "", nil)
		}, ""},
		"RESTClient": {func(t *testing.T, config *rest.Config) *cache.ListWatch {
			t.Helper()
			cache.EnableStreaming(config)
			return cache.NewListWatchFromClient(restClient(t, config), "nodes", "", nil)
		}, ""},
		"closures": {func(_ *testing.T, config *rest.Config) *cache.ListWatch {
			cache.EnableStreaming(config)
			return closures(kubernetes.NewForConfigOrDie(config), true)
		}, ""},
		"closures that have not said so": {func(_ *testing.T, config *rest.Config) *cache.ListWatch {
			cache.EnableStreaming(config)
			return closures(kubernetes.NewForConfigOrDie(config), false)
		}, "ListWatch.Streaming"},
	} {
		t.Run(name, func(t *testing.T) {
			front, config := cachetest.NewProxy(t, false)
			a := cachetest.Node("a", "")
			cachetest.Must(t, front.api.Create, a)
			r := cachetest.RunOverNetwork(t, test.lw(t, config), &corev1.Node{})
			r.Expect("A " + cachetest.NameAt(a))
			before := a.ResourceVersion
			a.Labels = map[string]string{"a": "b"}
			cachetest.Must(t, front.api.Update, a)
			r.Expect("U a@" + before + "→" + a.ResourceVersion)
			cachetest.Must(t, front.api.Delete, a)
			r.Expect("D " + cachetest.NameAt(a))
			if test.why != "" {
				r.ExpectNotStreaming(test.why)
			} else {
				r.ExpectStreaming()
			}
		})
	}
}

// TestRESTClientStaysAsItIs when a tapped copy of it is made.
func TestRESTClientStaysAsItIs(t *testing.T) {
	f, config := cachetest.NewProxy(t, false)
	cachetest.Must(t, f.API.Create, cachetest.Node("a", ""))
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	for name, given := range map[string]*http.Client{
		"without a transport": {},
		"with one":            {Transport: transport},
		"without a client":    nil,
	} {
		t.Run(name, func(t *testing.T) {
			client := restClient(t, config)
			client.Client = given
			r := cachetest.RunOverNetwork(t, cache.NewListWatchFromClient(client, "nodes", "", nil), &corev1.Node{})
			cachetest.Next(t, r.Events)
			r.ExpectStreaming()
			if client.Client != given || given != nil && given.Transport != nil && given.Transport != transport {
				t.Error("the client was changed")
			}
			list := &corev1.NodeList{}
			if err := client.Get().Resource("nodes").Do(t.Context()).Into(list); err != nil || len(list.Items) != 1 {
				t.Errorf("the client lists %d nodes, %v", len(list.Items), err)
			}
		})
	}
}

// TestDynamicClient follows unstructured nodes.
func TestDynamicClient(t *testing.T) {
	f, config := cachetest.NewProxy(t, false)
	a := cachetest.Node("a", "")
	cachetest.Must(t, f.API.Create, a)
	cache.EnableStreaming(config)
	example := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Node"}}
	r := cachetest.RunOverNetwork(t, cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(nodeResource)), example)
	r.Expect("A " + cachetest.NameAt(a))
	cachetest.Must(t, f.API.Delete, a)
	r.Expect("D " + cachetest.NameAt(a))
	r.ExpectStreaming()
}

// TestMetadataClient follows the metadata of nodes.
func TestMetadataClient(t *testing.T) {
	as := ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(runtime.ContentTypeJSON+as, []byte(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"3"},
		"items":[{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}]}`))}, nil)
	s.Watches = []http.HandlerFunc{s.ServeOpen(runtime.ContentTypeJSON+as, []byte(`{"type":"DELETED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","uid":"u","resourceVersion":"4"}}}`+"\n"))}
	config := s.Config()
	cache.EnableStreaming(config)
	r := cachetest.RunOverNetwork(t, cache.ListWatchOf(metadata.NewForConfigOrDie(config).Resource(nodeResource)), &metav1.PartialObjectMetadata{})
	r.Expect("A a@1", "D a@4")
	r.ExpectStreaming()
}

// TestTwoInformersOfOneClient do not get each other's answers, and others' requests
// are theirs.
func TestTwoInformersOfOneClient(t *testing.T) {
	f, config := cachetest.NewProxy(t, false)
	a, p := cachetest.Node("a", ""), cachetest.Pod("p")
	cachetest.Must(t, f.API.Create, a)
	cachetest.Must(t, f.API.Create, p)
	cache.EnableStreaming(config)
	client := kubernetes.NewForConfigOrDie(config)
	nodes := cachetest.RunOverNetwork(t, cache.ListWatchOf(client.CoreV1().Nodes()), &corev1.Node{})
	pods := cachetest.RunOverNetwork(t, cache.ListWatchOf(client.CoreV1().Pods("ns")), &corev1.Pod{})
	nodes.Expect("A " + cachetest.NameAt(a))
	pods.Expect("A " + cachetest.NameAt(p))
	list, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.GetSelfLink() != "" {
		t.Errorf("the client lists %v, %v", list, err)
	}
	generated := informers.NewSharedInformerFactory(client, 0) // which know nothing of the tap
	lister := generated.Core().V1().Nodes().Lister()
	ctx, cancel := context.WithCancel(t.Context())
	generated.Start(ctx.Done())
	generated.WaitForCacheSync(ctx.Done())
	if got, err := lister.Get("a"); err != nil || got.UID != a.UID {
		t.Errorf("client-go's informer has %v, %v", got, err)
	}
	cancel()
	generated.Shutdown()
}

// TestOtherFormats that the client reads and the stream does not: the classic way,
// and Status says why.
func TestOtherFormats(t *testing.T) {
	f := cachetest.Formats["JSON"]
	t.Run("YAML", func(t *testing.T) {
		s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve("application/yaml", []byte("kind: NodeList\napiVersion: v1\nmetadata: {resourceVersion: '3'}\nitems: [{metadata: {name: a, resourceVersion: '1'}}]"))}, nil)
		s.Watches = []http.HandlerFunc{func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}
		r := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
		r.Expect("A a@1")
		r.ExpectNotStreaming("application/yaml")
	})
	t.Run("CBOR", func(t *testing.T) {
		info := cbor.NewSerializer(scheme.Scheme, scheme.Scheme)
		var list bytes.Buffer
		if err := info.Encode(&corev1.NodeList{TypeMeta: ofKind("NodeList"), ListMeta: metav1.ListMeta{ResourceVersion: "3"}, Items: []corev1.Node{*cachetest.Node("a", "1")}}, &list); err != nil {
			t.Fatal(err)
		}
		s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(runtime.ContentTypeCBOR, list.Bytes())}, nil)
		s.Watches = []http.HandlerFunc{s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("b", "4")))}
		config := s.Config()
		config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
		config.NegotiatedSerializer = serializer.NewCodecFactory(scheme.Scheme, serializer.WithSerializer(cbor.NewSerializerInfo)).WithoutConversion()
		client, err := rest.RESTClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		r := cachetest.RunOverNetwork(t, cache.NewListWatchFromClient(client, "nodes", "", nil), &corev1.Node{})
		r.Expect("A a@1", "A b@4")
		r.End()
		r.ExpectQuiet()
		r.ExpectStreaming() // the watch: each answer goes the way that it can
	})
	t.Run("protobuf of unstructured objects", func(t *testing.T) {
		p := cachetest.Formats["protobuf"]
		s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(p.ListType, p.Nodes("3", cachetest.Node("a", "1")))}, nil)
		config := s.Config()
		cache.EnableStreaming(config)
		r := cachetest.RunOverNetwork(t, cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(nodeResource)), &unstructured.Unstructured{})
		r.ExpectError()
		r.End()
		r.ExpectNotStreaming(p.ListType)
	})
}
