// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net/url"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/kinformer/kinformer/fake"
)

// hashRange is a range of hashes of a field, "uid" or "namespace".
type hashRange struct {
	field      string
	start, end uint64 // an end of 0 is 2^64
}

func (r hashRange) String() string {
	end := fmt.Sprintf("0x%016x", r.end)
	if r.end == 0 {
		end = "0x10000000000000000"
	}
	return fmt.Sprintf("shardRange(object.metadata.%s, '0x%016x', '%s')", r.field, r.start, end)
}

// has reports whether an object is in the range.
func (r hashRange) has(obj metav1.Object) bool {
	h := fnv.New64a()
	_, _ = h.Write([]byte(map[string]string{"uid": string(obj.GetUID()), "namespace": obj.GetNamespace()}[r.field]))
	return h.Sum64() >= r.start && (r.end == 0 || h.Sum64() < r.end)
}

// hashRanges is a shard selector.
type hashRanges []hashRange

func (s hashRanges) String() string {
	texts := make([]string, len(s))
	for i, r := range s {
		texts[i] = r.String()
	}
	return strings.Join(texts, " || ")
}

// of returns the names of the Pods that are in a range, each with its version.
func (s hashRanges) of(pods []*corev1.Pod) []string {
	var names []string
	for _, p := range pods {
		if slices.ContainsFunc(s, func(r hashRange) bool { return r.has(p) }) {
			names = append(names, p.Name+"@"+p.ResourceVersion)
		}
	}
	return names
}

const half, quarter = uint64(1) << 63, uint64(1) << 62

var (
	lowerHalf = hashRanges{{"uid", 0, half}}
	upperHalf = hashRanges{{"uid", half, 0}}
)

// createPods creates 40 Pods in ten namespaces, in the order of their keys.
func createPods(t *testing.T, create func(fake.Object) error) []*corev1.Pod {
	t.Helper()
	var pods []*corev1.Pod
	for i := range 40 {
		p := pod(fmt.Sprintf("p%02d", i))
		p.Namespace = fmt.Sprintf("ns%d", i/4)
		must(t, create(p))
		pods = append(pods, p)
	}
	return pods
}

// shardedServer returns a server with the gate, the Pods in it, and a client.
func shardedServer(t *testing.T, contentType string) (*fake.APIServer, []*corev1.Pod, func(string, metav1.ListOptions) *corev1.PodList) {
	t.Helper()
	server := startServer(t, fake.APIServerOptions{ShardedListAndWatch: true})
	client := clientFor(t, server, contentType)
	return server, createPods(t, server.Create), func(namespace string, opts metav1.ListOptions) *corev1.PodList {
		t.Helper()
		list, err := client.CoreV1().Pods(namespace).List(t.Context(), opts)
		must(t, err)
		return list
	}
}

func TestListsOfShards(t *testing.T) {
	for _, contentType := range contentTypes {
		_, pods, list := shardedServer(t, contentType)
		for _, shards := range []hashRanges{
			lowerHalf, upperHalf,
			{{"uid", quarter, half}, {"uid", 3 * quarter, 0}},
			{{"uid", 0, 0}},
			{{"uid", 0, 1}},
			{{"namespace", 0, half}},
			{{"namespace", 3 * quarter, 0}, {"namespace", 0, quarter}},
		} {
			got := list("", metav1.ListOptions{ShardSelector: shards.String()})
			expectItems(t, itemsOf(t, got), shards.of(pods)...)
			if got.ShardInfo == nil || got.ShardInfo.Selector != shards.String() {
				t.Errorf("%s: shardInfo of %s: got %v", contentType, shards, got.ShardInfo)
			}
		}
		if n := len(lowerHalf.of(pods)); n == 0 || n == len(pods) {
			t.Errorf("%d of %d Pods are in the lower half", n, len(pods))
		}
		got := list("ns3", metav1.ListOptions{ShardSelector: " " + lowerHalf.String() + "\n", FieldSelector: "metadata.name=" + pods[12].Name})
		expectItems(t, itemsOf(t, got), lowerHalf.of(pods[12:13])...)
		if got.ShardInfo.Selector != lowerHalf.String() {
			t.Errorf("shardInfo: got %q, want the selector in its canonical form", got.ShardInfo.Selector)
		}
		if all := list("", metav1.ListOptions{}); len(all.Items) != len(pods) || all.ShardInfo != nil {
			t.Errorf("without a selector: got %d Pods and %v", len(all.Items), all.ShardInfo)
		}
	}
}

// The remaining items count those of other shards, as in kube-apiserver.
func TestPagesOfShards(t *testing.T) {
	for _, contentType := range contentTypes {
		_, pods, list := shardedServer(t, contentType)
		opts := metav1.ListOptions{ShardSelector: upperHalf.String(), Limit: 3}
		var items []string
		for {
			page := list("", opts)
			items = append(items, itemsOf(t, page)...)
			if page.ShardInfo == nil || page.ShardInfo.Selector != upperHalf.String() {
				t.Errorf("shardInfo of a page: got %v", page.ShardInfo)
			}
			if opts.Continue == "" && *page.RemainingItemCount != int64(len(pods))-opts.Limit {
				t.Errorf("first page: got %d remaining", *page.RemainingItemCount)
			}
			if opts.Continue = page.Continue; opts.Continue == "" {
				break
			}
		}
		expectItems(t, items, upperHalf.of(pods)...)
	}
}

func TestWatchesOfShards(t *testing.T) {
	for _, contentType := range contentTypes {
		server := startServer(t, fake.APIServerOptions{ShardedListAndWatch: true})
		client := clientFor(t, server, contentType)
		opts := metav1.ListOptions{ResourceVersion: server.ResourceVersion(), AllowWatchBookmarks: true, ShardSelector: lowerHalf.String()}
		w := watchPods(t, client, "", opts)
		pods := createPods(t, server.Create)
		var want []string
		expect := func(event string, pods []*corev1.Pod) {
			for _, item := range lowerHalf.of(pods) {
				want = append(want, event+" "+item)
			}
		}
		expect("ADDED", pods)
		for _, p := range pods {
			p.Labels = map[string]string{"l": "x"}
			must(t, server.Update(p))
		}
		expect("MODIFIED", pods)
		for _, p := range pods {
			must(t, server.Delete(p.DeepCopy()))
			expect("DELETED", []*corev1.Pod{withVersion(p, server.ResourceVersion())})
		}
		expectNext(t, w, want...)
		server.Bookmark()
		expectNext(t, w, "BOOKMARK @"+server.ResourceVersion())
	}
}

func withVersion(p *corev1.Pod, version string) *corev1.Pod {
	p = p.DeepCopy()
	p.ResourceVersion = version
	return p
}

func TestWatchListsOfShards(t *testing.T) {
	for _, contentType := range contentTypes {
		server := startServer(t, fake.APIServerOptions{ShardedListAndWatch: true})
		pods := createPods(t, server.Create)
		for _, shards := range []hashRanges{upperHalf, {{"uid", 0, 1}}} {
			w := watchPods(t, clientFor(t, server, contentType), "", metav1.ListOptions{
				SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, ShardSelector: shards.String(),
			})
			var want []string
			for _, item := range shards.of(pods) {
				want = append(want, "ADDED "+item)
			}
			expectNext(t, w, append(want, "BOOKMARK @"+server.ResourceVersion()+"!")...)
		}
	}
}

// The gate is off by default. While it is, selectors are ignored, invalid ones too.
func TestShardSelectorsAreIgnoredWhileTheGateIsOff(t *testing.T) {
	server, client := serve(t, runtime.ContentTypeJSON)
	pods := createPods(t, server.Create)
	count := func(selector string) (int, *metav1.ShardInfo) {
		t.Helper()
		list, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{ShardSelector: selector})
		must(t, err)
		return len(list.Items), list.ShardInfo
	}
	expect := func(selector string, sharded bool) {
		t.Helper()
		n, info := count(selector)
		if want := len(lowerHalf.of(pods)); sharded && (n != want || info == nil) {
			t.Errorf("with the gate: got %d Pods and %v, want %d and a shardInfo", n, info, want)
		}
		if !sharded && (n != len(pods) || info != nil) {
			t.Errorf("without the gate: got %d Pods and %v, want all", n, info)
		}
	}
	expect(lowerHalf.String(), false)
	expect("no selector", false)
	server.SetShardedListAndWatch(true)
	expect(lowerHalf.String(), true)
	server.SetShardedListAndWatch(false)
	expect(lowerHalf.String(), false)
}

// A watch continues as it began when the gate is switched.
func TestGateIsSwitchedBetweenWatches(t *testing.T) {
	server, client := serve(t, runtime.ContentTypeJSON)
	opts := metav1.ListOptions{ResourceVersion: server.ResourceVersion(), ShardSelector: lowerHalf.String()}
	unsharded := watchPods(t, client, "", opts)
	server.SetShardedListAndWatch(true)
	sharded := watchPods(t, client, "", opts)
	server.SetShardedListAndWatch(false)
	var all, selected []string
	for _, p := range createPods(t, server.Create) {
		all = append(all, "ADDED "+p.Name+"@"+p.ResourceVersion)
		for _, item := range lowerHalf.of([]*corev1.Pod{p}) {
			selected = append(selected, "ADDED "+item)
		}
	}
	expectNext(t, unsharded, all...)
	expectNext(t, sharded, selected...)
}

func TestInvalidShardSelectorsAreInternalErrors(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{ShardedListAndWatch: true})
	createPods(t, server.Create)
	const message = `invalid shard selector: shardRange() requires exactly 3 arguments, got 1`
	selector := url.QueryEscape("shardRange(object.metadata.uid)")
	for method, path := range map[string]string{
		"GET":    "/api/v1/pods?resourceVersion=x&shardSelector=",
		"DELETE": "/api/v1/namespaces/ns1/pods?shardSelector=",
	} {
		code, _, body := request(t, method, server.URL()+path+selector, "")
		if code != 500 || !strings.Contains(body, `"message":"`+message+`","code":500`) {
			t.Errorf("%s: got %d %s", method, code, body)
		}
	}
	_, err := clientFor(t, server, runtime.ContentTypeProtobuf).CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{ShardSelector: "shardRange(object.metadata.uid)"})
	if status, ok := errors.AsType[*apierrors.StatusError](err); !ok || status.Status().Code != 500 || status.Status().Message != message || status.Status().Reason != "" {
		t.Errorf("watch: got %#v", err)
	}
}

func TestDeleteCollectionOfShards(t *testing.T) {
	server, pods, list := shardedServer(t, runtime.ContentTypeJSON)
	must(t, clientFor(t, server, runtime.ContentTypeJSON).CoreV1().Pods("ns2").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{ShardSelector: lowerHalf.String()}))
	expectItems(t, itemsOf(t, list("ns2", metav1.ListOptions{})), upperHalf.of(pods[8:12])...)
}

// Lists of custom resources and of metadata have no shardInfo, those of CustomResourceDefinitions
// do.
func TestSomeListsOfShardsHaveNoShardInfo(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{ShardedListAndWatch: true, CustomResources: []fake.CustomResource{widget}})
	for i := range 20 {
		must(t, server.Create(newWidget("v1", fmt.Sprint("w", i))))
		must(t, server.Create(pod(fmt.Sprint("p", i))))
	}
	widgets := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	for resource, hasInfo := range map[schema.GroupVersionResource]bool{
		widgets: false, definitions: true, corev1.SchemeGroupVersion.WithResource("pods"): true,
	} {
		list, err := dynamic.NewForConfigOrDie(server.Config()).Resource(resource).List(t.Context(), metav1.ListOptions{ShardSelector: lowerHalf.String()})
		must(t, err)
		for _, obj := range list.Items {
			if !lowerHalf[0].has(&obj) {
				t.Errorf("%s: %s is not in the shard", resource.Resource, obj.GetName())
			}
		}
		selector, found, err := unstructured.NestedString(list.Object, "metadata", "shardInfo", "selector")
		if err != nil || found != hasInfo || hasInfo && selector != lowerHalf.String() {
			t.Errorf("%s: shardInfo: got %q, %v", resource.Resource, selector, err)
		}
	}
	partial, err := metadata.NewForConfigOrDie(server.Config()).Resource(widgets).List(t.Context(), metav1.ListOptions{ShardSelector: lowerHalf.String()})
	must(t, err)
	if n := len(partial.Items); partial.ShardInfo != nil || n == 0 || n == 20 {
		t.Errorf("metadata: got %d items and %v", n, partial.ShardInfo)
	}
}
