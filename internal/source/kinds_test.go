// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

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

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/source"
	"github.com/kinformer/kinformer/internal/wire"
)

var things = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}

const (
	// thingList has items with and without a kind, and its own metadata and kind after them.
	thingList = `{"items":[
		{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a","uid":"u1","resourceVersion":"1","managedFields":[{"manager":"m","fieldsV1":{"f:a":{}}}]},
		 "spec":{"int":1,"big":9223372036854775807,"bigger":9223372036854775808,"float":1.0,"exp":1e3,"null":null,"empty":{},"none":[],"text":"\u003c\u2028"}},
		{"metadata":{"name":"b","namespace":"ns","uid":"u2","resourceVersion":"2","labels":{},"annotations":null},"Spec":{"a":[1,-2,0.5,"x",true,[],{}]}}
	],"metadata":{"resourceVersion":"7"},"kind":"ThingList","apiVersion":"example.com/v1"}`

	// thingListInOrder has its kind before its items, as API servers send it.
	thingListInOrder = `{"apiVersion":"example.com/v1","kind":"ThingList","metadata":{"resourceVersion":"7"},"items":[
		{"metadata":{"name":"b","uid":"u2","resourceVersion":"2"}},
		{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a","uid":"u1","resourceVersion":"1"}}]}`

	thingEvents = `{"type":"ADDED","object":{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a","resourceVersion":"8"},"n":1}}
		{"type":"MODIFIED","object":{"kind":"Thing","apiVersion":"example.com/v1","metadata":{"name":"a","resourceVersion":"9"},"n":1.5}}
		{"object":{"kind":"Thing","apiVersion":"example.com/v1","metadata":{"name":"a","resourceVersion":"10"},"n":{}},"type":"DELETED"}
		`
)

// TestStreamedUnstructuredObjectsEqualDecodedOnes compares with the objects of the dynamic client.
func TestStreamedUnstructuredObjectsEqualDecodedOnes(t *testing.T) {
	for name, test := range map[string]struct {
		example *unstructured.Unstructured
		list    string
	}{
		"of a kind":          {thing, thingListInOrder},
		"of a kind, reverse": {thing, thingList},
		"of any kind":        {nil, thingListInOrder},
	} {
		t.Run(name, func(t *testing.T) {
			stream, decoded := dynamicSources(t, test.example, test.list)
			compare(t, stream, decoded, "7", 3)
		})
	}
}

var thing = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Thing"}}

// dynamicSources returns a streaming source of unstructured objects and one that is not.
func dynamicSources(t *testing.T, example *unstructured.Unstructured, list string) (stream source.Source, decoded feed.Source) {
	t.Helper()
	config := answering(t, func(*http.Request) (string, []byte, []byte) {
		return runtime.ContentTypeJSON, []byte(list), []byte(thingEvents)
	})
	objects := codec.TypeOf(reflect.TypeOf(example), example)
	decoded = source.NewDecoded(cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(things)), objects)
	cache.EnableStreaming(config)
	return newSource(cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(things)), objects), decoded
}

// TestStreamingIsDisabledIfTheKindFollowsTheItems lists objects whose kind is not known while they
// arrive; the client decodes all later lists.
func TestStreamingIsDisabledIfTheKindFollowsTheItems(t *testing.T) {
	stream, decoded := dynamicSources(t, nil, thingList)
	_, err := stream.List(t.Context(), metav1.ListOptions{}, func(feed.Item) error { return nil })
	if !errors.Is(err, source.ErrNoKind) {
		t.Fatalf("error %v", err)
	}
	equal(t, listed(t, stream), listed(t, decoded))
	equal(t, watched(t, stream, "7", 3), watched(t, decoded, "7", 3))
	if streaming, reason := modeOf(stream); streaming || reason != source.ReasonKindAfterItems {
		t.Errorf("streaming: %v, %s", streaming, reason)
	}
}

// Corn is a Go type that its client's scheme registers as kind Pod.
type Corn corev1.Pod

func (c *Corn) DeepCopyObject() runtime.Object { return (*Corn)((*corev1.Pod)(c).DeepCopy()) }

// Corns is its list type.
type Corns struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Corn `json:"items"`
}

func (c *Corns) DeepCopyObject() runtime.Object { panic("not needed") }

// TestStreamingIsDisabledIfTheKindIsNotTheTypesName lists a Go type whose kind has another name.
func TestStreamingIsDisabledIfTheKindIsNotTheTypesName(t *testing.T) {
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
	cache.EnableStreaming(config)
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	corns := newSource(cache.NewListWatchFromClient(client, "pods", "", nil), codec.ObjectType{GoType: reflect.TypeFor[*Corn]()})
	for _, list = range []string{"NodeList", "PodList"} {
		_, err = corns.List(t.Context(), metav1.ListOptions{}, func(feed.Item) error { return nil })
		if !errors.Is(err, wire.ErrWrongKind) {
			t.Fatalf("error %v", err)
		}
		if corns.IsDisabled() != (list == "PodList") {
			t.Errorf("disabled after a %s: %v", list, corns.IsDisabled())
		}
	}
	if got := listed(t, corns); len(got) != 1 || got[0].(*Corn).Name != "a" {
		t.Errorf("listed %v", got)
	}
	if streaming, reason := modeOf(corns); streaming || reason != source.ReasonKindName {
		t.Errorf("streaming: %v, %s", streaming, reason)
	}
}

// TestStreamedMetadataEqualsDecoded compares with the objects of the metadata client.
func TestStreamedMetadataEqualsDecoded(t *testing.T) {
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run(contentType, func(t *testing.T) {
			config := answering(t, func(request *http.Request) (string, []byte, []byte) {
				if accept := request.Header.Get("Accept"); !strings.Contains(accept, "as=PartialObjectMetadata") {
					t.Errorf("requested %s", accept)
				}
				return contentType + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", partialList(t, contentType), partialEvents(t, contentType)
			})
			objects := codec.ObjectType{GoType: reflect.TypeFor[*metav1.PartialObjectMetadata]()}
			decoded := source.NewDecoded(cache.ListWatchOf(metadata.NewForConfigOrDie(config).Resource(things)), objects)
			cache.EnableStreaming(config)
			stream := newSource(cache.ListWatchOf(metadata.NewForConfigOrDie(config).Resource(things)), objects)
			compare(t, stream, decoded, "7", 3)
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

// answering returns the client configuration of a server that sends the same response to every
// list, and the same to every watch.
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

// TestRefusedItemIsNoReasonToDecode lists with a function that refuses an item, which says nothing
// about the response.
func TestRefusedItemIsNoReasonToDecode(t *testing.T) {
	config := answering(t, func(*http.Request) (string, []byte, []byte) {
		return runtime.ContentTypeJSON, []byte(thingListInOrder), nil
	})
	cache.EnableStreaming(config)
	objects, refused := codec.TypeOf(reflect.TypeOf(thing), thing), errors.New("refused")
	lw := cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(things))
	stream := source.New(source.Config{ListerWatcher: lw, Objects: objects, Streaming: source.ByDefault})
	if _, err := stream.List(t.Context(), metav1.ListOptions{}, func(feed.Item) error { return refused }); !errors.Is(err, refused) || errors.Is(err, feed.ErrNotSplit) {
		t.Errorf("error %v", err)
	}
	if listed(t, stream); !stream.Streams() {
		t.Error("the source does not stream after an item was refused")
	}
}
