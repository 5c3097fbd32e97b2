// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// invalidVersions are resourceVersions that no object or list of a server has.
var invalidVersions = []string{"", "0", "abc", "<html>", "007", "-1", "1.5"}

// longVersion is the longest resourceVersion in these tests. Its length is not restricted.
const longVersion = "1234567890123456789012345678901234567890"

// badList is a list that is rejected, and what its error says.
type badList struct {
	body []byte
	err  string
}

// badLists are lists without a kind, or without a valid resourceVersion. Each is empty, or has an
// item.
func badLists(f cachetest.Format) map[string]badList {
	lists := make(map[string]badList)
	for _, nodes := range [][]*corev1.Node{nil, {cachetest.Node("bad", "1")}} {
		add := func(name string, body []byte, err string) {
			lists[fmt.Sprintf("%s, %d items", name, len(nodes))] = badList{body, err}
		}
		for _, version := range invalidVersions {
			add("version "+version, f.Nodes(version, nodes...), "no valid resourceVersion")
		}
		list := &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "3"}}
		for _, n := range nodes {
			list.Items = append(list.Items, *n)
		}
		list.TypeMeta = cachetest.TypeMeta("PodList")
		add("another kind", f.Encode(list), "wrong kind")
	}
	return lists
}

// badJSONLists are badLists that only JSON has.
func badJSONLists() map[string]badList {
	return map[string]badList{
		"an empty object":        {[]byte(`{}`), "no items"},
		"no metadata":            {[]byte(`{"kind":"NodeList","apiVersion":"v1","items":[]}`), "no valid resourceVersion"},
		"no metadata, with item": {[]byte(`{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"bad"}}]}`), "no valid resourceVersion"},
		"no kind":                {[]byte(`{"metadata":{"resourceVersion":"3"},"items":[]}`), "no kind"},
		"no kind, with item":     {[]byte(`{"metadata":{"resourceVersion":"3"},"items":[{"metadata":{"name":"bad"}}]}`), "no kind"},
		"null version":           {[]byte(`{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":null},"items":[]}`), "no valid resourceVersion"},
	}
}

// TestStreamedListWithoutKindOrVersionIsRejected streams lists without a kind as the first list and
// as a relist, and lists without a valid resourceVersion as a relist, after one that had a number:
// nothing is stored, and the list is retried.
func TestStreamedListWithoutKindOrVersionIsRejected(t *testing.T) {
	for formatName, f := range cachetest.Formats {
		lists := badLists(f)
		if formatName == "JSON" {
			maps.Copy(lists, badJSONLists())
		}
		for name, bad := range lists {
			t.Run(formatName+" "+name, func(t *testing.T) {
				serveBad := cachetest.Serve(f.ListType, bad.body)
				good := cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1")))
				proceed := make(chan struct{})
				s := cachetest.NewScript(t, []http.HandlerFunc{waitFor(proceed, good), serveBad, waitFor(proceed, good)}, nil)
				requests := []string{"list@0", "watch@3", "list@3", "list@3", "watch@3"}
				isRejectedFirst := bad.err != reflector.ErrNoVersion.Error()
				if isRejectedFirst {
					s.Lists, requests = append([]http.HandlerFunc{serveBad}, s.Lists...), append([]string{"list@0"}, requests...)
				}
				s.Watches = []http.HandlerFunc{cachetest.ServeStatus(http.StatusGone, ""), s.ServeOpen(f.WatchType, nil)}
				h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
				if isRejectedFirst {
					expectRejected(h, bad.err)
				}
				if h.Controller.HasDelivered() || h.Store.Len() > 0 {
					t.Errorf("synced: %v, %d objects stored", h.Controller.HasDelivered(), h.Store.Len())
				}
				proceed <- struct{}{}
				h.Expect("A a@1")
				h.ExpectError() // 410
				expectRejected(h, bad.err)
				if keys := h.Store.ListKeys(); len(keys) != 1 || keys[0] != "a" {
					t.Errorf("the store holds %q", keys)
				}
				proceed <- struct{}{}
				cachetest.ExpectNext(t, s.Requests, requests...)
				h.ExpectQuiet()
				h.ExpectStreaming()
			})
		}
	}
}

// waitFor returns a handler that waits for a value of proceed, or its end, before it calls next.
func waitFor(proceed <-chan struct{}, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-proceed:
			next(w, r)
		case <-r.Context().Done():
		}
	}
}

// expectRejected checks that the next error contains text. An error about the version is
// ErrNoVersion.
func expectRejected[T cache.Object](h *cachetest.NetworkHarness[T], text string) {
	h.T.Helper()
	err := cachetest.Next(h.T, h.Errors)
	if !strings.Contains(err.Error(), text) || text == reflector.ErrNoVersion.Error() && !errors.Is(err, reflector.ErrNoVersion) {
		h.T.Errorf("error %v, want one with %q", err, text)
	}
}

// TestStreamedEventWithoutVersionEndsTheWatch streams events of an object without a valid
// resourceVersion: the event is not applied, the watch is resumed from the last version, and after
// a second such event the collection is listed.
func TestStreamedEventWithoutVersionEndsTheWatch(t *testing.T) {
	for formatName, f := range cachetest.Formats {
		for _, eventType := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
			for _, version := range invalidVersions {
				t.Run(fmt.Sprintf("%s %s %q", formatName, eventType, version), func(t *testing.T) {
					list := cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1")))
					s := cachetest.NewScript(t, []http.HandlerFunc{list}, nil)
					bad := s.ServeOpen(f.WatchType, f.Event(eventType, cachetest.Node("a", version)))
					s.Watches = []http.HandlerFunc{bad, bad, s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("b", longVersion)))}
					h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
					expectRejected(h, reflector.ErrNoVersion.Error())
					expectRejected(h, reflector.ErrNoVersion.Error())
					h.Expect("A a@1", "A b@"+longVersion)
					cachetest.ExpectNext(t, s.Requests, "list@0", "watch@3", "watch@3", "list@3", "watch@3")
					h.ExpectQuiet()
					h.ExpectStreaming()
				})
			}
		}
	}
}

// TestStreamedInitialEventWithoutVersionIsStored streams a WatchList with an object without a valid
// resourceVersion: it is stored, as an item of a list is.
func TestStreamedInitialEventWithoutVersionIsStored(t *testing.T) {
	for formatName, f := range cachetest.Formats {
		t.Run(formatName, func(t *testing.T) {
			end := cachetest.Node("", "5")
			end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
			s := cachetest.NewScript(t, nil, nil)
			s.Watches = []http.HandlerFunc{s.ServeOpen(f.WatchType, slices.Concat(
				f.Event(watch.Added, cachetest.Node("a", "0")), f.Event(watch.Bookmark, end), f.Event(watch.Modified, cachetest.Node("a", "6"))))}
			h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{}, func(o *cache.ReflectorOptions) {
				o.WatchList = true
			})
			h.Expect("A a@0", "U a@0→6")
			cachetest.ExpectNext(t, s.Requests, "watch@")
		})
	}
}

// TestStreamedListOfAnotherAPIVersionIsRejected streams an empty list of another API group in place
// of one of custom resources. The informer continues to stream.
func TestStreamedListOfAnotherAPIVersionIsRejected(t *testing.T) {
	lists := []string{
		`{"apiVersion":"other.com/v1","kind":"GadgetList","metadata":{"resourceVersion":"3"},"items":[]}`,
		`{"apiVersion":"example.com/v1","kind":"WidgetList","metadata":{"resourceVersion":"3"},"items":[{"metadata":{"name":"a","resourceVersion":"1"}}]}`,
	}
	h, s := runWidgets(t, lists...)
	expectRejected(h, "wrong kind")
	h.Expect("A a@1")
	cachetest.ExpectNext(t, s.Requests, "list@0", "list@0", "watch@3")
	h.ExpectStreaming()
}

// runWidgets runs an informer of a custom resource with prepared lists.
func runWidgets(t *testing.T, lists ...string) (*cachetest.NetworkHarness[*unstructured.Unstructured], *cachetest.Script) {
	t.Helper()
	f := cachetest.Formats["JSON"]
	s := cachetest.NewScript(t, nil, nil)
	for _, list := range lists {
		s.Lists = append(s.Lists, cachetest.Serve(f.ListType, []byte(list)))
	}
	s.Watches = []http.HandlerFunc{s.ServeOpen(f.WatchType, nil)}
	config := s.Config()
	cache.EnableStreaming(config)
	widgets := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	example := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}}
	return cachetest.RunOverNetwork(t, cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(widgets)), example), s
}

// TestCustomListKindIsAccepted streams a custom resource whose list kind is not its kind followed
// by "List", as a CustomResourceDefinition may name it.
func TestCustomListKindIsAccepted(t *testing.T) {
	for name, items := range map[string]string{
		"empty":     ``,
		"with item": `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","resourceVersion":"1"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			h, s := runWidgets(t, `{"apiVersion":"example.com/v1","kind":"WidgetCollection","metadata":{"resourceVersion":"3"},"items":[`+items+`]}`)
			cachetest.ExpectNext(t, s.Requests, "list@0", "watch@3")
			h.ExpectStreaming()
		})
	}
}
