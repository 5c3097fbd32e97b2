// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/collection"
	"github.com/kinformer/kinformer/internal/wire"
)

// served returns the handler of five objects in JSON. Those with an odd number have no kind.
func served() *handler {
	c := &collection.Collection{
		Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"},
		Kind:     "Widget", ListKind: "WidgetList", ContentType: runtime.ContentTypeJSON, ResourceVersion: "9",
	}
	for i := range 5 {
		kind := ""
		if i%2 == 0 {
			kind = `"apiVersion":"example.com/v1","kind":"Widget",`
		}
		c.Items = append(c.Items, fmt.Appendf(nil, `{%s"metadata":{"name":"w%d"}}`, kind, i))
	}
	return newHandler(c, "secret")
}

// request returns the answer to a request for the collection.
func request(ctx context.Context, t *testing.T, query string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/apis/example.com/v1/widgets?"+query, http.NoBody)
	r.Header.Set("Authorization", "Bearer secret")
	w := httptest.NewRecorder()
	served().ServeHTTP(w, r)
	return w
}

func TestListsAreWholeOrPaged(t *testing.T) {
	for query, want := range map[string]string{
		"":                          "WidgetList 9 w0 w1 w2 w3 w4",
		"limit=2":                   "WidgetList 9 w0 w1 next=2 remaining=3",
		"limit=2&continue=2":        "WidgetList 9 w2 w3 next=4 remaining=1",
		"limit=2&continue=4":        "WidgetList 9 w4",
		"limit=2&resourceVersion=0": "WidgetList 9 w0 w1 w2 w3 w4", // from the watch cache
	} {
		w := request(t.Context(), t, query)
		var list metav1.PartialObjectMetadataList
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
			t.Fatalf("%s: %v in %s", query, err, w.Body)
		}
		got := list.Kind + " " + list.ResourceVersion
		for _, item := range list.Items {
			got += " " + item.Name
		}
		if list.RemainingItemCount != nil {
			got += fmt.Sprintf(" next=%s remaining=%d", list.Continue, *list.RemainingItemCount)
		}
		if got != want || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
}

// TestPageInProtobufIsComplete checks the length that precedes the objects.
func TestPageInProtobufIsComplete(t *testing.T) {
	h := served()
	h.ContentType = runtime.ContentTypeProtobuf
	h = newHandler(h.Collection, "secret")
	r := httptest.NewRequest(http.MethodGet, "/apis/example.com/v1/widgets?limit=2&continue=2", http.NoBody)
	r.Header.Set("Authorization", "Bearer secret")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var names []string
	header, err := wire.List(w.Body, wire.Protobuf, wire.Options{}, func(item *wire.Item) error {
		names = append(names, string(item.Raw))
		return nil
	})
	if want := []string{string(h.Items[2]), string(h.Items[3])}; err != nil || !slices.Equal(names, want) || header.Meta.Continue != "4" {
		t.Errorf("items %q, continue %q, error %v; want %q", names, header.Meta.Continue, err, want)
	}
}

func TestRequestsWithoutTokenAreRefused(t *testing.T) {
	for _, token := range []string{"", "Bearer ", "Bearer secre", "Bearer secret2", "secret"} {
		r := httptest.NewRequest(http.MethodGet, "/apis/example.com/v1/widgets", http.NoBody)
		r.Header.Set("Authorization", token)
		w := httptest.NewRecorder()
		if served().ServeHTTP(w, r); w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "w0") {
			t.Errorf("%q: status %d, body %s", token, w.Code, w.Body)
		}
	}
}

func TestOtherPathsAreNotFound(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/api/v1/secrets", http.NoBody)
	r.Header.Set("Authorization", "Bearer secret")
	w := httptest.NewRecorder()
	if served().ServeHTTP(w, r); w.Code != http.StatusNotFound {
		t.Errorf("status %d, want 404", w.Code)
	}
	if w := request(t.Context(), t, "continue=7"); w.Code != http.StatusBadRequest {
		t.Errorf("status %d of an invalid continue token, want 400", w.Code)
	}
}

// watched returns the events of a watch that lasts a while.
func watched(t *testing.T, query string, duration time.Duration) (events []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	body := json.NewDecoder(request(ctx, t, query).Body)
	for body.More() {
		var event struct {
			Type   string
			Object metav1.PartialObjectMetadata
		}
		if err := body.Decode(&event); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%s %s %s%s", event.Type, event.Object.Kind, event.Object.Name, event.Object.ResourceVersion)
		if event.Object.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
			text += " end"
		}
		events = append(events, text)
	}
	return events
}

func TestWatchSendsABookmarkAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := []string{"BOOKMARK Widget 9", "BOOKMARK Widget 9"}
		if diff := cmp.Diff(want, watched(t, "watch=true&resourceVersion=9", 150*time.Second)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestWatchListSendsTheObjectsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := []string{
			"ADDED Widget w0", "ADDED Widget w1", "ADDED Widget w2", "ADDED Widget w3", "ADDED Widget w4", "BOOKMARK Widget 9 end", "BOOKMARK Widget 9",
		}
		if diff := cmp.Diff(want, watched(t, "watch=1&sendInitialEvents=true", 90*time.Second)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}
