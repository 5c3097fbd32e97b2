package cache

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/wire"
)

var things = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}

const (
	// thingList has items with and without a kind, and metadata behind them.
	thingList = `{"items":[
		{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a","uid":"u1","resourceVersion":"1","managedFields":[{"manager":"m","fieldsV1":{"f:a":{}}}]},
		 "spec":{"int":1,"big":9223372036854775807,"bigger":9223372036854775808,"float":1.0,"exp":1e3,"null":null,"empty":{},"none":[],"text":"\u003c\u2028"}},
		{"metadata":{"name":"b","namespace":"ns","uid":"u2","resourceVersion":"2","labels":{},"annotations":null},"Spec":{"a":[1,-2,0.5,"x",true,[],{}]}}
	],"metadata":{"resourceVersion":"7"},"kind":"ThingList","apiVersion":"example.com/v1"}`

	// thingListInOrder is what API servers send: their lists say first what they are.
	thingListInOrder = `{"apiVersion":"example.com/v1","kind":"ThingList","metadata":{"resourceVersion":"7"},"items":[
		{"metadata":{"name":"b","uid":"u2","resourceVersion":"2"}},
		{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a","uid":"u1","resourceVersion":"1"}}]}`

	thingEvents = `{"type":"ADDED","object":{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a","resourceVersion":"8"},"n":1}}
		{"type":"MODIFIED","object":{"kind":"Thing","apiVersion":"example.com/v1","metadata":{"name":"a","resourceVersion":"9"},"n":1.5}}
		{"object":{"kind":"Thing","apiVersion":"example.com/v1","metadata":{"name":"a","resourceVersion":"10"},"n":{}},"type":"DELETED"}
		`
)

// TestStreamEqualsClassicUnstructured compares what the dynamic client decodes.
func TestStreamEqualsClassicUnstructured(t *testing.T) {
	for name, test := range map[string]struct {
		example *unstructured.Unstructured
		list    string
	}{
		"of a kind":          {thing, thingListInOrder},
		"of a kind, reverse": {thing, thingList},
		"of any kind":        {nil, thingListInOrder},
	} {
		t.Run(name, func(t *testing.T) {
			stream, classic := dynamicWays(t, test.example, test.list)
			compare(t, stream, classic, "7", 3)
		})
	}
}

var thing = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Thing"}}

// dynamicWays returns sources of unstructured objects.
func dynamicWays(t *testing.T, example *unstructured.Unstructured, list string) (stream, classic feed.Source) {
	t.Helper()
	config := answering(t, func(*http.Request) (string, []byte, []byte) {
		return runtime.ContentTypeJSON, []byte(list), []byte(thingEvents)
	})
	k, err := kindOf(example)
	if err != nil {
		t.Fatal(err)
	}
	classic = classicSource{ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(things)), k}
	EnableStreaming(config)
	stream, _ = newSource(ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(things)), k)
	return stream, classic
}

// TestStreamGivesUpOnKindSaidTooLate: what the items of a list are cannot be known
// while they pass, so the client decodes them after that.
func TestStreamGivesUpOnKindSaidTooLate(t *testing.T) {
	stream, classic := dynamicWays(t, nil, thingList)
	_, err := stream.List(t.Context(), metav1.ListOptions{}, func(feed.Item) error { return nil })
	if !errors.Is(err, errNoKind) {
		t.Fatalf("error %v", err)
	}
	equal(t, listed(t, stream), listed(t, classic))
	equal(t, watched(t, stream, "7", 3), watched(t, classic, "7", 3))
	if streaming, why := stream.(streamSource).way.get(); streaming || why != whyNoKind {
		t.Errorf("streaming: %v, %s", streaming, why)
	}
}

// Corn is a Pod to those who named the Go type. It is what its client's scheme says
// that decides.
type Corn corev1.Pod

func (c *Corn) DeepCopyObject() runtime.Object { return (*Corn)((*corev1.Pod)(c).DeepCopy()) }

// Corns is a list of them.
type Corns struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Corn `json:"items"`
}

func (c *Corns) DeepCopyObject() runtime.Object { panic("not needed") }

// TestStreamGivesUpOnTypesOfAnotherName: the kind of a type is taken from its name,
// until it turns out that it has another.
func TestStreamGivesUpOnTypesOfAnotherName(t *testing.T) {
	list := "NodeList"
	config := answering(t, func(*http.Request) (string, []byte, []byte) {
		return runtime.ContentTypeJSON, []byte(`{"kind":"` + list + `","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}}]}`), nil
	})
	known := runtime.NewScheme()
	known.AddKnownTypeWithName(corev1.SchemeGroupVersion.WithKind("Pod"), &Corn{})
	known.AddKnownTypeWithName(corev1.SchemeGroupVersion.WithKind("PodList"), &Corns{})
	known.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Node{}, &corev1.NodeList{})
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(known).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	source, way := newSource(NewListWatchFromClient(client, "pods", "", nil), kind{goType: reflect.TypeFor[*Corn]()})
	for _, list = range []string{"NodeList", "PodList"} {
		_, err = source.List(t.Context(), metav1.ListOptions{}, func(feed.Item) error { return nil })
		if !errors.Is(err, wire.ErrWrongKind) {
			t.Fatalf("error %v", err)
		}
		if way.hasGivenUp() != (list == "PodList") {
			t.Errorf("given up after a %s: %v", list, way.hasGivenUp())
		}
	}
	if got := listed(t, source); len(got) != 1 || got[0].(*Corn).Name != "a" {
		t.Errorf("listed %v", got)
	}
	if streaming, why := way.get(); streaming || why != whyNoName {
		t.Errorf("streaming: %v, %s", streaming, why)
	}
}

// TestStreamEqualsClassicMetadata compares what the metadata client decodes.
func TestStreamEqualsClassicMetadata(t *testing.T) {
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run(contentType, func(t *testing.T) {
			config := answering(t, func(request *http.Request) (string, []byte, []byte) {
				if accept := request.Header.Get("Accept"); !strings.Contains(accept, "as=PartialObjectMetadata") {
					t.Errorf("asked for %s", accept)
				}
				return contentType + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", partialList(t, contentType), partialEvents(t, contentType)
			})
			k := kind{goType: reflect.TypeFor[*metav1.PartialObjectMetadata]()}
			classic := classicSource{ListWatchOf(metadata.NewForConfigOrDie(config).Resource(things)), k}
			EnableStreaming(config)
			stream, _ := newSource(ListWatchOf(metadata.NewForConfigOrDie(config).Resource(things)), k)
			compare(t, stream, classic, "7", 3)
		})
	}
}

// partial returns the metadata of an object.
func partial(name, version string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: "u", ResourceVersion: version, Labels: map[string]string{"a": "b"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:a":{}}`)}},
		},
	}
}

func partialList(t *testing.T, contentType string) []byte {
	t.Helper()
	return encoded(t, contentType, &metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"},
		ListMeta: metav1.ListMeta{ResourceVersion: "7"},
		Items:    []metav1.PartialObjectMetadata{*partial("a", "1"), *partial("b", "2")},
	})
}

func partialEvents(t *testing.T, contentType string) []byte {
	t.Helper()
	var events bytes.Buffer
	for i, eventType := range []string{"ADDED", "MODIFIED", "DELETED"} {
		object := encoded(t, contentType, partial("c", []string{"8", "9", "10"}[i]))
		info := serializerOf(t, contentType)
		encoder := streaming.NewEncoder(info.StreamSerializer.NewFrameWriter(&events), info.StreamSerializer.Serializer)
		if err := encoder.Encode(&metav1.WatchEvent{Type: eventType, Object: runtime.RawExtension{Raw: object}}); err != nil {
			t.Fatal(err)
		}
	}
	return events.Bytes()
}

func encoded(t *testing.T, contentType string, obj runtime.Object) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := serializerOf(t, contentType).Serializer.Encode(obj, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func serializerOf(t *testing.T, contentType string) runtime.SerializerInfo {
	t.Helper()
	known := runtime.NewScheme()
	metav1.AddToGroupVersion(known, schema.GroupVersion{Version: "v1"})
	if err := metav1.AddMetaToScheme(known); err != nil {
		t.Fatal(err)
	}
	info, ok := runtime.SerializerInfoForMediaType(serializer.NewCodecFactory(known).SupportedMediaTypes(), contentType)
	if !ok {
		t.Fatalf("no serializer for %s", contentType)
	}
	return info
}

// answering returns the configuration of clients of a server that gives all lists
// and all watches the same answers.
func answering(t *testing.T, answer func(*http.Request) (contentType string, list, watch []byte)) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		contentType, list, watch := answer(request)
		body := list
		if request.URL.Query().Has("watch") {
			body = watch
			contentType = strings.Replace(contentType, runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+";stream=watch", 1)
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = io.Copy(w, bytes.NewReader(body))
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, QPS: -1}
}
