package cache_test

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
		"clientset": {func(_ *testing.T, config *rest.Config) *cache.ListWatch { return nodesOf(config) }, ""},
		"clientset for protobuf": {func(_ *testing.T, config *rest.Config) *cache.ListWatch {
			config.ContentType = runtime.ContentTypeProtobuf
			return nodesOf(config)
		}, ""},
		"enabled twice": {func(_ *testing.T, config *rest.Config) *cache.ListWatch {
			cache.EnableStreaming(config)
			return nodesOf(config)
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
			front, config := newFront(t, false)
			a := aNode("a", "")
			mustDo(t, front.api.Create, a)
			r := runOver(t, test.lw(t, config), &corev1.Node{})
			r.expect("A " + nameAt(a))
			before := a.ResourceVersion
			a.Labels = map[string]string{"a": "b"}
			mustDo(t, front.api.Update, a)
			r.expect("U a@" + before + "→" + a.ResourceVersion)
			mustDo(t, front.api.Delete, a)
			r.expect("D " + nameAt(a))
			if test.why != "" {
				r.expectClassic(test.why)
			} else {
				r.expectStreaming()
			}
		})
	}
}

// TestRESTClientStaysAsItIs when a tapped copy of it is made.
func TestRESTClientStaysAsItIs(t *testing.T) {
	f, config := newFront(t, false)
	mustDo(t, f.api.Create, aNode("a", ""))
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
			r := runOver(t, cache.NewListWatchFromClient(client, "nodes", "", nil), &corev1.Node{})
			next(t, r.events)
			r.expectStreaming()
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
	f, config := newFront(t, false)
	a := aNode("a", "")
	mustDo(t, f.api.Create, a)
	cache.EnableStreaming(config)
	example := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Node"}}
	r := runOver(t, cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(nodeResource)), example)
	r.expect("A " + nameAt(a))
	mustDo(t, f.api.Delete, a)
	r.expect("D " + nameAt(a))
	r.expectStreaming()
}

// TestMetadataClient follows the metadata of nodes.
func TestMetadataClient(t *testing.T) {
	as := ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	s := newScript(t, []http.HandlerFunc{serve(runtime.ContentTypeJSON+as, []byte(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"3"},
		"items":[{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}]}`))}, nil)
	s.watches = []http.HandlerFunc{s.serveOpen(runtime.ContentTypeJSON+as, []byte(`{"type":"DELETED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","uid":"u","resourceVersion":"4"}}}`+"\n"))}
	config := s.config()
	cache.EnableStreaming(config)
	r := runOver(t, cache.ListWatchOf(metadata.NewForConfigOrDie(config).Resource(nodeResource)), &metav1.PartialObjectMetadata{})
	r.expect("A a@1", "D a@4")
	r.expectStreaming()
}

// TestTwoInformersOfOneClient do not get each other's answers, and others' requests
// are theirs.
func TestTwoInformersOfOneClient(t *testing.T) {
	f, config := newFront(t, false)
	a, p := aNode("a", ""), pod("p")
	mustDo(t, f.api.Create, a)
	mustDo(t, f.api.Create, p)
	cache.EnableStreaming(config)
	client := kubernetes.NewForConfigOrDie(config)
	nodes := runOver(t, cache.ListWatchOf(client.CoreV1().Nodes()), &corev1.Node{})
	pods := runOver(t, cache.ListWatchOf(client.CoreV1().Pods("ns")), &corev1.Pod{})
	nodes.expect("A " + nameAt(a))
	pods.expect("A " + nameAt(p))
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
	f := formats["JSON"]
	t.Run("YAML", func(t *testing.T) {
		s := newScript(t, []http.HandlerFunc{serve("application/yaml", []byte("kind: NodeList\napiVersion: v1\nmetadata: {resourceVersion: '3'}\nitems: [{metadata: {name: a, resourceVersion: '1'}}]"))}, nil)
		s.watches = []http.HandlerFunc{func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}
		r := runOver(t, nodesOf(s.config()), &corev1.Node{})
		r.expect("A a@1")
		r.expectClassic("application/yaml")
	})
	t.Run("CBOR", func(t *testing.T) {
		info := cbor.NewSerializer(scheme.Scheme, scheme.Scheme)
		var list bytes.Buffer
		if err := info.Encode(&corev1.NodeList{TypeMeta: ofKind("NodeList"), ListMeta: metav1.ListMeta{ResourceVersion: "3"}, Items: []corev1.Node{*aNode("a", "1")}}, &list); err != nil {
			t.Fatal(err)
		}
		s := newScript(t, []http.HandlerFunc{serve(runtime.ContentTypeCBOR, list.Bytes())}, nil)
		s.watches = []http.HandlerFunc{s.serveOpen(f.watch, f.event(watch.Added, aNode("b", "4")))}
		config := s.config()
		config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
		config.NegotiatedSerializer = serializer.NewCodecFactory(scheme.Scheme, serializer.WithSerializer(cbor.NewSerializerInfo)).WithoutConversion()
		client, err := rest.RESTClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		r := runOver(t, cache.NewListWatchFromClient(client, "nodes", "", nil), &corev1.Node{})
		r.expect("A a@1", "A b@4")
		r.end()
		r.expectQuiet()
		r.expectStreaming() // the watch: each answer goes the way that it can
	})
	t.Run("protobuf of unstructured objects", func(t *testing.T) {
		p := formats["protobuf"]
		s := newScript(t, []http.HandlerFunc{serve(p.list, p.nodes("3", aNode("a", "1")))}, nil)
		config := s.config()
		cache.EnableStreaming(config)
		r := runOver(t, cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(nodeResource)), &unstructured.Unstructured{})
		r.expectError()
		r.end()
		r.expectClassic(p.list)
	})
}
