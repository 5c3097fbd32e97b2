// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"maps"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/omit"
	"github.com/kinformer/kinformer/internal/source"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestItemsSayWhetherFieldsWereOmitted lists and watches objects with and without the omitted
// fields. An Update of an object that has lost nothing but managedFields deletes nothing: it may
// remove the last finalizer.
func TestItemsSayWhetherFieldsWereOmitted(t *testing.T) {
	server := cachetest.StartAPIServer(t, fake.APIServerOptions{})
	version := server.ResourceVersion()
	managed := []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{}}`)}}}
	for _, pod := range []*corev1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Name: "finalizer", Finalizers: []string{"example.com/a"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "other-annotation", Annotations: map[string]string{"b": ""}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "annotation", Annotations: map[string]string{"a": "", "b": ""}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Spec: corev1.PodSpec{NodeName: "node-1"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "zero"}, Spec: corev1.PodSpec{ActiveDeadlineSeconds: new(int64(0))}},
	} {
		pod.Namespace, pod.ManagedFields = "ns", managed
		if err := server.Create(pod); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]bool{"ns/finalizer": false, "ns/other-annotation": false, "ns/annotation": true, "ns/node": true, "ns/zero": true}
	check := func(name string, objects codec.ObjectType, lw source.ListerWatcher, streaming source.Streaming) {
		t.Helper()
		fields, err := omit.New(objects.GoType, []string{"metadata.managedFields", "metadata.annotations[a]", "spec.nodeName", "spec.activeDeadlineSeconds"}, true)
		if err != nil {
			t.Fatal(err)
		}
		s := source.New(source.Config{ListerWatcher: lw, Objects: objects, Streaming: streaming, Codec: codec.Options{Omit: fields}})
		sink := &omittedSink{want: len(want), omitted: map[string]bool{}}
		if _, err := s.List(t.Context(), metav1.ListOptions{}, sink.add); err != nil || !maps.Equal(sink.omitted, want) {
			t.Errorf("%s, list: fields were omitted from %v, %v, want %v", name, sink.omitted, err, want)
		}
		clear(sink.omitted)
		if err := s.Watch(t.Context(), metav1.ListOptions{ResourceVersion: version}, sink); err != errEnough || !maps.Equal(sink.omitted, want) {
			t.Errorf("%s, watch: fields were omitted from %v, %v, want %v", name, sink.omitted, err, want)
		}
		if streams := s.Streams(); streams != (streaming == source.Unchanged) {
			t.Errorf("%s: the responses were split: %v", name, streams)
		}
	}
	for _, streaming := range []source.Streaming{source.Unchanged, source.Disabled} {
		for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
			config := server.Config()
			config.ContentType = contentType
			cache.EnableStreaming(config)
			lw := cache.NewListWatchFromClient(restClient(t, config), "pods", "ns", nil)
			check(contentType, codec.ObjectType{GoType: reflect.TypeFor[*corev1.Pod]()}, lw, streaming)
		}
		config := server.Config()
		cache.EnableStreaming(config)
		lw := cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace("ns"))
		check("unstructured", codec.ObjectType{GoType: reflect.TypeFor[*unstructured.Unstructured](), GVK: corev1.SchemeGroupVersion.WithKind("Pod")}, lw, streaming)
	}
}

// omittedSink collects the items of a list or watch.
type omittedSink struct {
	want    int
	omitted map[string]bool // by key: Item.Omitted
}

func (s *omittedSink) add(item feed.Item) error {
	edited, _ := item.Edited(nil)
	s.omitted[item.Key] = edited.Omitted
	return nil
}

func (s *omittedSink) Opened()                     {}
func (s *omittedSink) Bookmark(string, bool) error { return nil }
func (s *omittedSink) Unreadable(_ watch.EventType, item feed.Item) error {
	_, err := item.Decoded()
	return err
}
func (s *omittedSink) Event(_ watch.EventType, item feed.Item) error {
	if s.add(item); len(s.omitted) == s.want {
		return errEnough
	}
	return nil
}
