// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// Both halves of the hashes of UIDs, as the server writes them into shardInfo.
const (
	lowerHalf = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
	upperHalf = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"
)

// inLowerHalf reports whether lowerHalf selects an object.
func inLowerHalf(uid types.UID) bool { return fnv64a(string(uid)) < 1<<63 }

// fnv64a returns the server's hash of a field.
func fnv64a(value string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(value))
	return hash.Sum64()
}

// shardCollection is a collection of a test, as one client reads it.
type shardCollection struct {
	list  func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)
	watch func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
	// showsInfo reports whether the server writes shardInfo into such lists.
	showsInfo bool
}

func collectionOf[L runtime.Object](client collection[L], showsInfo bool) shardCollection {
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.List(ctx, options)
	}
	return shardCollection{list, client.Watch, showsInfo}
}

// shardCollections returns the ConfigMaps and the custom resources of a namespace, as each client
// reads them from one server.
func shardCollections(config *rest.Config, ns string, widgets schema.GroupVersionResource) map[string]shardCollection {
	configMaps := corev1.SchemeGroupVersion.WithResource("configmaps")
	protobuf := rest.CopyConfig(config)
	inProtobuf(protobuf)
	return map[string]shardCollection{
		"ConfigMaps in JSON":           collectionOf(kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(ns), true),
		"ConfigMaps in protobuf":       collectionOf(kubernetes.NewForConfigOrDie(protobuf).CoreV1().ConfigMaps(ns), true),
		"metadata of ConfigMaps":       collectionOf(metadata.NewForConfigOrDie(config).Resource(configMaps).Namespace(ns), false),
		"custom resources":             collectionOf(dynamic.NewForConfigOrDie(config).Resource(widgets).Namespace(ns), false),
		"metadata of custom resources": collectionOf(metadata.NewForConfigOrDie(config).Resource(widgets).Namespace(ns), false),
	}
}

// TestServerFiltersByShardSelector checks that a server with the feature gate sends the selected
// objects alone, and that one without it ignores the selector. Only lists of built-in types show
// which of the two the server did.
func TestServerFiltersByShardSelector(t *testing.T) {
	t.Parallel()
	servers := sharedShardServers(t)
	ns := namespace(t, clientsetFor(t, servers.cluster))
	widgets := defineWidgets(t, dynamic.NewForConfigOrDie(servers.off), ns+".example.com")
	await(t, "both servers serve the custom resource", func(ctx context.Context) error {
		_, err := dynamic.NewForConfigOrDie(servers.on).Resource(widgets).List(ctx, metav1.ListOptions{})
		return err
	})
	newWriter(widgetAuthor{dynamic.NewForConfigOrDie(servers.off).Resource(widgets).Namespace(ns), widgets.GroupVersion().String()}, 30).fill(t)
	newWriter(configMapAuthor{clientsetFor(t, servers.cluster), []string{ns}}, 30).fill(t)

	for name, config := range map[string]*rest.Config{"gate on": servers.on, "gate off": servers.off} {
		on := name == "gate on"
		for of, c := range shardCollections(config, ns, widgets) {
			t.Run(name+"/"+of, func(t *testing.T) {
				all := c.listed(t, metav1.ListOptions{}, false)
				want := maps.Clone(all)
				maps.DeleteFunc(want, func(uid types.UID, _ bool) bool { return on && !inLowerHalf(uid) })
				if on && (len(want) == 0 || len(want) == len(all)) {
					t.Fatalf("%d of %d objects are in the lower half; the test needs both", len(want), len(all))
				}
				for _, version := range []string{"", "0"} {
					got := c.listed(t, metav1.ListOptions{ShardSelector: lowerHalf, ResourceVersion: version}, on && c.showsInfo)
					if version == "" && !maps.Equal(got, want) { // version 0 may be of before the last objects
						t.Errorf("listed %v, want %v", got, want)
					}
				}
				if got := c.initialEvents(t, metav1.ListOptions{ShardSelector: lowerHalf}); !maps.Equal(got, want) {
					t.Errorf("the initial events are of %v, want %v", got, want)
				}
			})
		}
	}
}

// listed returns the UIDs of a list, and checks whether it has shardInfo.
func (c shardCollection) listed(t *testing.T, options metav1.ListOptions, wantInfo bool) map[types.UID]bool {
	t.Helper()
	list, err := c.list(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if got := shardInfo(list); wantInfo && got != options.ShardSelector || !wantInfo && got != "" {
		t.Errorf("shardInfo is %q for the selector %q, want it: %t", got, options.ShardSelector, wantInfo)
	}
	uids := map[types.UID]bool{}
	if err := meta.EachListItem(list, func(obj runtime.Object) error {
		uids[obj.(metav1.Object).GetUID()] = true
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return uids
}

// shardInfo returns the selector in a list's shardInfo, empty if there is none.
func shardInfo(list runtime.Object) string {
	if u, ok := list.(*unstructured.UnstructuredList); ok {
		selector, _, _ := unstructured.NestedString(u.Object, "metadata", "shardInfo", "selector")
		return selector
	}
	if info := list.(metav1.ShardedListInterface).GetShardInfo(); info != nil {
		return info.Selector
	}
	return ""
}

// initialEvents returns the UIDs of a WatchList.
func (c shardCollection) initialEvents(t *testing.T, options metav1.ListOptions) map[types.UID]bool {
	t.Helper()
	options.SendInitialEvents, options.AllowWatchBookmarks = new(true), true
	options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	w, err := c.watch(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	uids := map[types.UID]bool{}
	for {
		event, ok := podWatch{w}.next(t)
		switch {
		case ok && event.Type == watch.Added:
			uids[event.Object.(metav1.Object).GetUID()] = true
		case ok && event.Type == watch.Bookmark:
			return uids
		default:
			t.Fatalf("watch: %s, want ADDED or BOOKMARK", describe(event, ok))
		}
	}
}

// TestServerWatchFiltersByShardSelector recreates objects under their names: a watch of one half
// receives the additions and deletions of its own UIDs alone. Without the feature gate it receives
// all.
func TestServerWatchFiltersByShardSelector(t *testing.T) {
	t.Parallel()
	servers := sharedShardServers(t)
	clientset := clientsetFor(t, servers.cluster)
	ns := namespace(t, clientset)
	author := configMapAuthor{clientset, []string{ns}}
	list, err := clientset.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all, lower []string
	record := func(kind watch.EventType, obj metav1.Object) {
		event := fmt.Sprintf("%s %s %s", kind, obj.GetName(), obj.GetUID())
		all = append(all, event)
		if inLowerHalf(obj.GetUID()) {
			lower = append(lower, event)
		}
	}
	for n := 0; ; n++ {
		obj, err := author.create(t.Context(), n%2)
		if err != nil {
			t.Fatal(err)
		}
		record(watch.Added, obj)
		if n >= 20 && inLowerHalf(obj.GetUID()) {
			break // the last event is one that both servers send
		}
		if err := author.remove(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		record(watch.Deleted, obj)
	}
	for name, c := range map[string]struct {
		config *rest.Config
		want   []string
	}{"gate on": {servers.on, lower}, "gate off": {servers.off, all}} {
		w, err := kubernetes.NewForConfigOrDie(c.config).CoreV1().ConfigMaps(ns).Watch(t.Context(),
			metav1.ListOptions{ShardSelector: lowerHalf, ResourceVersion: list.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Stop)
		for i, want := range c.want {
			event, ok := podWatch{w}.next(t)
			obj, isObject := event.Object.(*corev1.ConfigMap)
			if !ok || !isObject {
				t.Fatalf("%s: watch: %s", name, describe(event, ok))
			}
			if got := fmt.Sprintf("%s %s %s", event.Type, obj.Name, obj.UID); got != want {
				t.Fatalf("%s: event %d is %s, want %s", name, i, got, want)
			}
		}
	}
}

// TestServerContinuesListWithoutShardSelector checks that the pages of one list may be filtered or
// not: a continue token does not contain the selector, and any server may be asked for the next
// page.
func TestServerContinuesListWithoutShardSelector(t *testing.T) {
	t.Parallel()
	servers := sharedShardServers(t)
	clientset := clientsetFor(t, servers.cluster)
	ns := namespace(t, clientset)
	newWriter(configMapAuthor{clientset, []string{ns}}, 40).fill(t)
	on := kubernetes.NewForConfigOrDie(servers.on).CoreV1().ConfigMaps(ns)
	first, err := on.List(t.Context(), metav1.ListOptions{ShardSelector: lowerHalf, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	next := metav1.ListOptions{ShardSelector: lowerHalf, Continue: first.Continue}
	filtered, err := on.List(t.Context(), next)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := clientset.CoreV1().ConfigMaps(ns).List(t.Context(), next)
	if err != nil {
		t.Fatal(err)
	}
	if shardInfo(filtered) != lowerHalf || len(filtered.Items) >= len(whole.Items) {
		t.Errorf("the next page has shardInfo %q and %d ConfigMaps, want %q and fewer than %d", shardInfo(filtered), len(filtered.Items), lowerHalf, len(whole.Items))
	}
	if shardInfo(whole) != "" {
		t.Errorf("the next page of a server without the feature gate has shardInfo %q, want none", shardInfo(whole))
	}
	if remaining := ptr.Deref(first.RemainingItemCount, 0); int(remaining) <= len(filtered.Items) {
		t.Errorf("remainingItemCount is %d, want more than the %d ConfigMaps that remain, as it ignores the selector", remaining, len(filtered.Items))
	}
}

// TestServerRejectsInvalidShardSelector checks that an invalid selector is an internal error, which
// a client cannot distinguish from a temporary one, and that a server without the feature gate
// ignores it.
func TestServerRejectsInvalidShardSelector(t *testing.T) {
	t.Parallel()
	servers := sharedShardServers(t)
	on, off := kubernetes.NewForConfigOrDie(servers.on), kubernetes.NewForConfigOrDie(servers.off)
	for name, selector := range map[string]string{
		"blank":        " ",
		"short number": "shardRange(object.metadata.uid, '0x0', '0x8000000000000000')",
		"upper case":   "shardRange(object.metadata.uid, '0x0000000000000000', '0xF000000000000000')",
		"empty range":  "shardRange(object.metadata.uid, '0x8000000000000000', '0x8000000000000000')",
		"other field":  "shardRange(object.metadata.name, '0x0000000000000000', '0x8000000000000000')",
		"two fields":   lowerHalf + " || shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')",
		"too long":     strings.Join(slices.Repeat([]string{lowerHalf}, 1300), " || "), // more than CEL's 100,000 characters
	} {
		t.Run(name, func(t *testing.T) {
			options := metav1.ListOptions{ShardSelector: selector}
			_, listErr := on.CoreV1().ConfigMaps("default").List(t.Context(), options)
			_, watchErr := on.CoreV1().ConfigMaps("default").Watch(t.Context(), options)
			for _, err := range []error{listErr, watchErr} {
				var status apierrors.APIStatus
				if !errors.As(err, &status) || status.Status().Code != http.StatusInternalServerError || status.Status().Reason != "" {
					t.Errorf("the error is %v, want one with code 500 and no reason", err)
				}
			}
			if _, err := off.CoreV1().ConfigMaps("default").List(t.Context(), options); err != nil {
				t.Errorf("without the feature gate: %v", err)
			}
		})
	}
}

// TestServerJoinsShardRanges checks that a selector may have several ranges, in any order, adjacent
// or overlapping, and that shardInfo repeats them as they are but for white space.
func TestServerJoinsShardRanges(t *testing.T) {
	t.Parallel()
	servers := sharedShardServers(t)
	ns := namespace(t, clientsetFor(t, servers.cluster))
	newWriter(configMapAuthor{clientsetFor(t, servers.cluster), []string{ns}}, 20).fill(t)
	c := collectionOf(kubernetes.NewForConfigOrDie(servers.on).CoreV1().ConfigMaps(ns), true)
	all := c.listed(t, metav1.ListOptions{}, false)
	for _, joined := range []string{upperHalf + " || " + lowerHalf, strings.Join(append(slices.Repeat([]string{lowerHalf}, 15), upperHalf), " || ")} {
		if got := c.listed(t, metav1.ListOptions{ShardSelector: joined}, true); !maps.Equal(got, all) {
			t.Errorf("%s selects %d ConfigMaps, want %d", joined, len(got), len(all))
		}
	}
	list, err := c.list(t.Context(), metav1.ListOptions{ShardSelector: strings.ReplaceAll(lowerHalf, " ", "")})
	if err != nil {
		t.Fatal(err)
	}
	if got := shardInfo(list); got != lowerHalf {
		t.Errorf("shardInfo is %q, want %q, with the spaces that the request has not", got, lowerHalf)
	}
}

// TestServerHashesNamespaces checks that objects of a namespace are in one range, by the hash of
// its name, and that objects without a namespace have the hash of the empty string.
func TestServerHashesNamespaces(t *testing.T) {
	t.Parallel()
	servers := sharedShardServers(t)
	ns := namespace(t, clientsetFor(t, servers.cluster))
	newWriter(configMapAuthor{clientsetFor(t, servers.cluster), []string{ns}}, 5).fill(t)
	on := kubernetes.NewForConfigOrDie(servers.on)
	for hashed, c := range map[string]shardCollection{
		ns: collectionOf(on.CoreV1().ConfigMaps(ns), true),
		"": collectionOf(on.CoreV1().Namespaces(), true),
	} {
		hash := fnv64a(hashed)
		selector := fmt.Sprintf("shardRange(object.metadata.namespace, '0x%016x', '0x%016x')", hash, hash+1)
		above := fmt.Sprintf("shardRange(object.metadata.namespace, '0x%016x', '0x10000000000000000')", hash+1)
		if len(c.listed(t, metav1.ListOptions{ShardSelector: selector}, true)) == 0 {
			t.Errorf("%s selects nothing, want the objects of namespace %q", selector, hashed)
		}
		if got := c.listed(t, metav1.ListOptions{ShardSelector: above}, true); len(got) != 0 {
			t.Errorf("%s selects %v, want nothing of namespace %q", above, got, hashed)
		}
	}
}
