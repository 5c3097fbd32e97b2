// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/fake/internal/codec"
	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/registry"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

// Every built-in type can be created, read, listed, updated and deleted in both formats.
func TestBuiltInTypesRoundTrip(t *testing.T) {
	for _, contentType := range codec.NewSet().Supported() {
		handler := &Handler{
			Codecs:         codec.NewSet(),
			Registry:       registry.New(history.NewMemory(), resource.BuiltIn(), 0),
			BookmarkPeriod: time.Minute, WriteTimeout: time.Minute, Closing: make(chan struct{}),
		}
		for _, r := range resource.BuiltIn() {
			t.Run(contentType+" "+r.String(), func(t *testing.T) {
				roundTrip(t, handler, contentType, r)
			})
		}
	}
}

func roundTrip(t *testing.T, handler http.Handler, contentType string, r *resource.Resource) {
	t.Helper()
	obj, name := r.New(), "x"
	if r.Resource == "ipaddresses" {
		name = "192.0.2.1"
	}
	obj.SetName(name)
	obj.SetLabels(map[string]string{"l": "v"})
	path := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		path = "/api/" + r.Version
	}
	if r.Namespaced {
		path += "/namespaces/ns"
	}
	path += "/" + r.Resource

	created := do(t, handler, contentType, http.MethodPost, path, obj).(history.Object)
	got := do(t, handler, contentType, http.MethodGet, path+"/"+name, nil).(history.Object)
	if !apiequality.Semantic.DeepEqual(created, got) || got.GetLabels()["l"] != "v" || got.GetUID() == "" {
		t.Errorf("created %+v, got %+v", created, got)
	}
	if gvk := got.GetObjectKind().GroupVersionKind(); gvk != r.Kind {
		t.Errorf("got kind %s, want %s", gvk, r.Kind)
	}
	list := do(t, handler, contentType, http.MethodGet, path, nil)
	items, err := meta.ExtractList(list)
	if err != nil || len(items) != 1 {
		t.Fatalf("listed %d items, %v", len(items), err)
	}
	if items[0].(history.Object).GetUID() != got.GetUID() {
		t.Errorf("listed %+v", items[0])
	}
	got.SetLabels(nil)
	updated := do(t, handler, contentType, http.MethodPut, path+"/"+name, got).(history.Object)
	if updated.GetLabels()["l"] != "" || updated.GetUID() != got.GetUID() || updated.GetResourceVersion() == got.GetResourceVersion() {
		t.Errorf("updated to %+v", updated)
	}
	do(t, handler, contentType, http.MethodDelete, path+"/"+name, nil)
}

// do sends one request, which must succeed, and decodes the answer.
func do(t *testing.T, handler http.Handler, contentType, method, path string, body runtime.Object) runtime.Object {
	t.Helper()
	var data bytes.Buffer
	if body != nil {
		if err := codec.NewSet().ForContentType(contentType).Encode(&data, body); err != nil {
			t.Fatal(err)
		}
	}
	request := httptest.NewRequestWithContext(t.Context(), method, path, &data)
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", contentType)
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	if recorder.Code >= 300 || recorder.Header().Get("Content-Type") != contentType {
		t.Fatalf("%s %s: got %d %s %q", method, path, recorder.Code, recorder.Header().Get("Content-Type"), recorder.Body)
	}
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(recorder.Body.Bytes(), nil, nil)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return obj
}
