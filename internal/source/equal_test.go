// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/source"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestStreamedObjectsEqualDecodedOnes lists and watches every built-in type with streaming and
// without, and requires deeply equal objects, nil and empty included.
func TestStreamedObjectsEqualDecodedOnes(t *testing.T) {
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		server := cachetest.StartAPIServer(t, fake.APIServerOptions{})
		for _, gvk := range builtIn() {
			t.Run(contentType+" "+gvk.String(), func(t *testing.T) {
				version := server.ResourceVersion()
				write(t, server, gvk)
				streaming, decoded := bothSources(t, server, contentType, gvk)
				compare(t, streaming, decoded, version, 5)
			})
		}
	}
}

// compare lists and watches both sources.
func compare(t *testing.T, streaming source.Source, decoded feed.Source, version string, events int) {
	t.Helper()
	equal(t, listed(t, streaming), listed(t, decoded))
	equal(t, watched(t, streaming, version, events), watched(t, decoded, version, events))
	if ok, reason := modeOf(streaming); !ok {
		t.Errorf("not streaming: %s", reason)
	}
}

// builtIn returns the kinds of client-go's scheme that can be listed.
func builtIn() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for gvk, goType := range scheme.Scheme.AllKnownTypes() {
		list := gvk.GroupVersion().WithKind(gvk.Kind + "List")
		_, isObject := reflect.TypeAssert[cache.Object](reflect.New(goType))
		if isObject && scheme.Scheme.Recognizes(list) && gvk.Version != runtime.APIVersionInternal {
			kinds = append(kinds, gvk)
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) })
	return kinds
}

// write creates two objects, updates and deletes one of them, and creates a third.
func write(t *testing.T, server *fake.APIServer, gvk schema.GroupVersionKind) {
	t.Helper()
	f := &filler{
		random: rand.New(rand.NewPCG(1, uint64(len(gvk.String())))),
		raw:    []byte(`{"kind":"Thing","apiVersion":"example.com/v1","n":1}`),
	}
	for _, step := range []struct {
		change func(fake.Object) error
		name   string
	}{{server.Create, "a"}, {server.Create, "b"}, {server.Update, "a"}, {server.Delete, "a"}, {server.Create, "a"}} {
		obj, err := scheme.Scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		f.fill(reflect.ValueOf(obj).Elem(), 0)
		object := stored(t, obj).(cache.Object)
		object.SetName(step.name)
		object.SetNamespace("ns")
		object.SetUID("")
		object.SetResourceVersion("")
		object.SetDeletionTimestamp(nil)
		object.SetFinalizers(nil)
		if step.change(object) == nil {
			continue
		}
		object.SetNamespace("")
		if err := step.change(object); err != nil {
			t.Fatal(err)
		}
	}
}

// stored returns an object as API servers return it: they store protobuf, which does not
// distinguish nil from empty.
func stored(t *testing.T, obj runtime.Object) runtime.Object {
	t.Helper()
	message, err := obj.(interface{ Marshal() ([]byte, error) }).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(interface {
		runtime.Object
		Unmarshal(data []byte) error
	})
	if err := again.Unmarshal(message); err != nil {
		t.Fatal(err)
	}
	return again
}

// bothSources returns a streaming source of a collection and one that is not, of the same client.
func bothSources(t *testing.T, server *fake.APIServer, contentType string, gvk schema.GroupVersionKind) (streaming source.Source, decoded feed.Source) {
	t.Helper()
	config := server.Config()
	config.GroupVersion = &schema.GroupVersion{Group: gvk.Group, Version: gvk.Version}
	config.APIPath = "/apis"
	if gvk.Group == "" {
		config.APIPath = "/api"
	}
	config.ContentType = contentType
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	cache.EnableStreaming(config)
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	obj, err := scheme.Scheme.New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	objects := codec.ObjectType{GoType: reflect.TypeOf(obj)}
	lw := cache.NewListWatchFromClient(client, resource.Resource, metav1.NamespaceAll, nil)
	return newSource(lw, objects), source.NewDecoded(lw, objects)
}

// newSource returns a source that streams if its client can.
func newSource(lw source.ListerWatcher, objects codec.ObjectType) source.Source {
	return source.New(source.Config{ListerWatcher: lw, Objects: objects, Streaming: source.Unchanged})
}

// modeOf reports whether the last response was split while it arrived and, if not, why.
func modeOf(s source.Source) (streaming bool, reason string) {
	status := s.Status()
	return status.Streaming, status.NotStreamingReason
}

// listed returns the objects of a list.
func listed(t *testing.T, from feed.Source) (objs []runtime.Object) {
	t.Helper()
	_, err := from.List(t.Context(), metav1.ListOptions{}, func(item feed.Item) error {
		objs = append(objs, decoded(t, item))
		if item.Borrowed != (item.Raw != nil) {
			t.Errorf("the strings of an item with %d bytes are borrowed: %v", len(item.Raw), item.Borrowed)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

// decoded decodes an item from bytes that it overwrites afterwards, as a reused buffer is.
func decoded(t *testing.T, item feed.Item) runtime.Object {
	t.Helper()
	lent := slices.Clone(item.Raw)
	item.Raw = lent
	obj, err := item.Decoded()
	if err != nil {
		t.Fatalf("%s: %v", item.Key, err)
	}
	for i := range lent {
		lent[i] = 'X'
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		t.Fatal(err)
	}
	if key := codec.Key(metadata); key != item.Key || string(metadata.GetUID()) != item.UID || metadata.GetResourceVersion() != item.ResourceVersion {
		t.Errorf("item of %s, %s, %s holds %s, %s, %s", item.Key, item.UID, item.ResourceVersion, key, metadata.GetUID(), metadata.GetResourceVersion())
	}
	clearClaimKinds(obj)
	return obj
}

// clearClaimKinds clears the kind of the claim templates of a StatefulSet, which the server sets.
// Protobuf, in which streamed objects are requested, does not have it.
func clearClaimKinds(obj runtime.Object) {
	if set, ok := obj.(*appsv1.StatefulSet); ok {
		for i := range set.Spec.VolumeClaimTemplates {
			set.Spec.VolumeClaimTemplates[i].TypeMeta = metav1.TypeMeta{}
		}
	}
}

// watched returns the first n events of a watch from a version.
func watched(t *testing.T, from feed.Source, version string, n int) []watch.Event {
	t.Helper()
	sink := &eventSink{t: t, n: n}
	err := from.Watch(t.Context(), metav1.ListOptions{ResourceVersion: version}, sink)
	if !errors.Is(err, errEnough) {
		t.Fatalf("after %d events: %v", len(sink.events), err)
	}
	if sink.opened != 1 {
		t.Errorf("the watch was opened %d times", sink.opened)
	}
	return sink.events
}

// eventSink collects n events.
type eventSink struct {
	t      *testing.T
	n      int
	opened int
	events []watch.Event
}

var errEnough = errors.New("enough events")

func (s *eventSink) Opened()                     { s.opened++ }
func (s *eventSink) Bookmark(string, bool) error { return nil }
func (s *eventSink) Unreadable(_ watch.EventType, item feed.Item) error {
	_, err := item.Decoded()
	return err
}
func (s *eventSink) Event(eventType watch.EventType, item feed.Item) error {
	if s.opened != 1 {
		s.t.Errorf("an event after %d calls of Opened, want one", s.opened)
	}
	s.events = append(s.events, watch.Event{Type: eventType, Object: decoded(s.t, item)})
	if len(s.events) == s.n {
		return errEnough
	}
	return nil
}

// equal requires the results of both sources to be deeply equal.
func equal[E any](t *testing.T, streamed, decoded []E) {
	t.Helper()
	if len(decoded) == 0 {
		t.Error("nothing to compare")
	}
	if !reflect.DeepEqual(streamed, decoded) {
		t.Errorf("streamed (-) and decoded (+) objects differ: %s", gocmp.Diff(streamed, decoded))
	}
}
