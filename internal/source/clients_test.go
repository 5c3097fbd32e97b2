// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

var nodeResource = corev1.SchemeGroupVersion.WithResource("nodes")

// closures returns a ListWatch of two functions, as generated informers have.
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

// TestStreamingOfTypedClients lists and watches Nodes with every kind of typed client.
func TestStreamingOfTypedClients(t *testing.T) {
	for name, test := range map[string]struct {
		lw     func(t *testing.T, config *rest.Config) *cache.ListWatch
		reason string // for not streaming
	}{
		"typed client": {func(_ *testing.T, config *rest.Config) *cache.ListWatch { return cachetest.NodesOf(config) }, ""},
		"typed client with protobuf": {func(_ *testing.T, config *rest.Config) *cache.ListWatch {
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
		}, "EnableStreaming"},
		"RESTClient": {func(t *testing.T, config *rest.Config) *cache.ListWatch {
			t.Helper()
			cache.EnableStreaming(config)
			return cache.NewListWatchFromClient(restClient(t, config), "nodes", "", nil)
		}, ""},
		"closures": {func(_ *testing.T, config *rest.Config) *cache.ListWatch {
			cache.EnableStreaming(config)
			return closures(kubernetes.NewForConfigOrDie(config), true)
		}, ""},
		"closures without Streaming": {func(_ *testing.T, config *rest.Config) *cache.ListWatch {
			cache.EnableStreaming(config)
			return closures(kubernetes.NewForConfigOrDie(config), false)
		}, "set Streaming"},
	} {
		t.Run(name, func(t *testing.T) {
			proxy, config := cachetest.NewProxy(t, false)
			a := cachetest.Node("a", "")
			cachetest.Must(t, proxy.API.Create, a)
			h := cachetest.RunOverNetwork(t, test.lw(t, config), &corev1.Node{})
			h.Expect("A " + cachetest.NameAtVersion(a))
			before := a.ResourceVersion
			a.Labels = map[string]string{"a": "b"}
			cachetest.Must(t, proxy.API.Update, a)
			h.Expect("U a@" + before + "→" + a.ResourceVersion)
			cachetest.Must(t, proxy.API.Delete, a)
			h.Expect("D " + cachetest.NameAtVersion(a))
			if test.reason != "" {
				h.ExpectNotStreaming(test.reason)
			} else {
				h.ExpectStreaming()
			}
		})
	}
}

// TestStreamingOfDynamicClient lists and watches unstructured Nodes.
func TestStreamingOfDynamicClient(t *testing.T) {
	f, config := cachetest.NewProxy(t, false)
	a := cachetest.Node("a", "")
	cachetest.Must(t, f.API.Create, a)
	cache.EnableStreaming(config)
	example := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Node"}}
	h := cachetest.RunOverNetwork(t, cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(nodeResource)), example)
	h.Expect("A " + cachetest.NameAtVersion(a))
	cachetest.Must(t, f.API.Delete, a)
	h.Expect("D " + cachetest.NameAtVersion(a))
	h.ExpectStreaming()
}

// TestStreamingOfMetadataClient lists and watches the metadata of Nodes.
func TestStreamingOfMetadataClient(t *testing.T) {
	contentType := runtime.ContentTypeJSON + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	list := `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"3"},
		"items":[{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}]}`
	deleted := `{"type":"DELETED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",
		"metadata":{"name":"a","uid":"u","resourceVersion":"4"}}}`
	s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(contentType, []byte(list))}, nil)
	s.Watches = []http.HandlerFunc{s.ServeOpen(contentType, []byte(deleted+"\n"))}
	config := s.Config()
	cache.EnableStreaming(config)
	h := cachetest.RunOverNetwork(t, cache.ListWatchOf(metadata.NewForConfigOrDie(config).Resource(nodeResource)), &metav1.PartialObjectMetadata{})
	h.Expect("A a@1", "D a@4")
	h.ExpectStreaming()
}

// TestInformersShareAClient runs two informers and one of client-go with the same client, which
// lists Nodes, too. Each receives the response to its own request.
func TestInformersShareAClient(t *testing.T) {
	f, config := cachetest.NewProxy(t, false)
	a, p := cachetest.Node("a", ""), cachetest.Pod("p")
	cachetest.Must(t, f.API.Create, a)
	cachetest.Must(t, f.API.Create, p)
	cache.EnableStreaming(config)
	client := kubernetes.NewForConfigOrDie(config)
	nodes := cachetest.RunOverNetwork(t, cache.ListWatchOf(client.CoreV1().Nodes()), &corev1.Node{})
	pods := cachetest.RunOverNetwork(t, cache.ListWatchOf(client.CoreV1().Pods("ns")), &corev1.Pod{})
	nodes.Expect("A " + cachetest.NameAtVersion(a))
	pods.Expect("A " + cachetest.NameAtVersion(p))
	list, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.GetSelfLink() != "" {
		t.Errorf("the client lists %v, %v", list, err)
	}
	generated := informers.NewSharedInformerFactory(client, 0)
	lister := generated.Core().V1().Nodes().Lister()
	ctx, cancel := context.WithCancel(t.Context())
	generated.Start(ctx.Done())
	generated.WaitForCacheSync(ctx.Done())
	if got, err := lister.Get("a"); err != nil || got.UID != a.UID {
		t.Errorf("the informer of client-go holds %v, %v", got, err)
	}
	cancel()
	generated.Shutdown()
}

// TestCBORIsNotRequested uses a dynamic client that prefers CBOR, with a server that sends it to
// clients that accept it.
func TestCBORIsNotRequested(t *testing.T) {
	clientfeaturestesting.SetFeatureDuringTest(t, features.ClientsAllowCBOR, true)
	clientfeaturestesting.SetFeatureDuringTest(t, features.ClientsPreferCBOR, true)
	f, asCBOR := cachetest.Formats["JSON"], encodeCBOR(t, &corev1.NodeList{
		TypeMeta: cachetest.TypeMeta("NodeList"),
		ListMeta: metav1.ListMeta{ResourceVersion: "3"},
		Items:    []corev1.Node{*cachetest.Node("c", "1")},
	})
	ifCBOR := func(accepted, otherwise http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.Header.Get("Accept"), runtime.ContentTypeCBOR) {
				accepted(w, r)
			} else {
				otherwise(w, r)
			}
		}
	}
	list := ifCBOR(cachetest.Serve(runtime.ContentTypeCBOR, asCBOR), cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1"))))
	s := cachetest.NewScript(t, []http.HandlerFunc{list, list}, nil)
	s.Watches = []http.HandlerFunc{ifCBOR(http.NotFound, s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("b", "4"))))}
	config := s.Config()
	cache.EnableStreaming(config)
	nodes := dynamic.NewForConfigOrDie(config).Resource(nodeResource)
	h := cachetest.RunOverNetwork(t, cache.ListWatchOf(nodes), &unstructured.Unstructured{})
	h.Expect("A a@1", "A b@4")
	h.End()
	h.ExpectQuiet()
	h.ExpectStreaming()
	ours, err := nodes.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(ours.Items) != 1 || ours.Items[0].GetName() != "c" {
		t.Errorf("the client itself lists %v, %v", ours, err)
	}
}

func encodeCBOR(t *testing.T, obj runtime.Object) []byte {
	t.Helper()
	var encoded bytes.Buffer
	if err := cbor.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(obj, &encoded); err != nil {
		t.Fatal(err)
	}
	return encoded.Bytes()
}

// TestUnsupportedFormatsAreDecodedByTheClient responds in formats that cannot be streamed. Status
// returns the reason.
func TestUnsupportedFormatsAreDecodedByTheClient(t *testing.T) {
	f := cachetest.Formats["JSON"]
	t.Run("YAML", func(t *testing.T) {
		list := "kind: NodeList\napiVersion: v1\nmetadata: {resourceVersion: '3'}\nitems: [{metadata: {name: a, resourceVersion: '1'}}]"
		s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve("application/yaml", []byte(list))}, nil)
		s.Watches = []http.HandlerFunc{func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}
		h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
		h.Expect("A a@1")
		h.ExpectNotStreaming("application/yaml")
	})
	t.Run("CBOR, which was not requested", func(t *testing.T) {
		list := encodeCBOR(t, &corev1.NodeList{
			TypeMeta: cachetest.TypeMeta("NodeList"),
			ListMeta: metav1.ListMeta{ResourceVersion: "3"},
			Items:    []corev1.Node{*cachetest.Node("a", "1")},
		})
		s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(runtime.ContentTypeCBOR, list)}, nil)
		s.Watches = []http.HandlerFunc{s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("b", "4")))}
		config := s.Config()
		config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
		codecs := serializer.NewCodecFactory(scheme.Scheme, serializer.WithSerializer(cbor.NewSerializerInfo))
		config.NegotiatedSerializer = codecs.WithoutConversion()
		cache.EnableStreaming(config)
		client, err := rest.RESTClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		h := cachetest.RunOverNetwork(t, cache.NewListWatchFromClient(client, "nodes", "", nil), &corev1.Node{})
		h.Expect("A a@1", "A b@4")
		h.End()
		h.ExpectQuiet()
		h.ExpectStreaming() // of the watch: the mode is that of the last response
	})
	t.Run("protobuf of unstructured objects", func(t *testing.T) {
		p := cachetest.Formats["protobuf"]
		s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(p.ListType, p.Nodes("3", cachetest.Node("a", "1")))}, nil)
		config := s.Config()
		cache.EnableStreaming(config)
		h := cachetest.RunOverNetwork(t, cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(nodeResource)), &unstructured.Unstructured{})
		h.ExpectError()
		h.End()
		h.ExpectNotStreaming(p.ListType)
	})
}
