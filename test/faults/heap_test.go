// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// keptNode is the object that is left of heapNodes.
const keptNode = heapNodes * 2 / 3

// TestLastObjectOfAListPinsNoOther lists fifty thousand objects, and then removes all but one of
// them, by a list or by a watch. The one that is left keeps nothing of the others alive: neither
// the list that the client decoded nor the buffers that it was read from.
func TestLastObjectOfAListPinsNoOther(t *testing.T) {
	f := cachetest.Formats["protobuf"]
	whole := cachetest.Serve(f.ListType, manyNodes(f))
	rest := cachetest.Serve(f.ListType, f.Nodes("200000", manyNode(keptNode)))
	expire := cachetest.ServeStatus(http.StatusGone, "", "Expired")
	remove := cachetest.Serve(f.WatchType, deletions(f))
	for by, first := range map[string]http.HandlerFunc{"list": expire, "watch": remove} {
		for _, streaming := range []bool{true, false} {
			for _, packed := range []bool{true, false} {
				t.Run(fmt.Sprintf("by a %s, streaming: %v, packed: %v", by, streaming, packed), func(t *testing.T) {
					replace := make(chan struct{})
					s := cachetest.NewScript(t, []http.HandlerFunc{whole, rest}, nil)
					s.Watches = []http.HandlerFunc{waitFor(replace, first), s.ServeOpen(f.WatchType, nil)}
					config := s.Config()
					config.ContentType = f.ListType
					if streaming {
						cache.EnableStreaming(config)
					}
					before := process.LiveHeap()
					nodes := cache.NewSharedInformer(cache.ListWatchOf(corev1client.NewForConfigOrDie(config).Nodes()), &corev1.Node{},
						cache.InformerOptions[*corev1.Node]{Packed: packed, StartAny: true, ErrorHandler: func(context.Context, error) {}})
					runUntilCleanup(t, nodes)
					expectNodes(t, nodes, "100000", heapNodes)
					full := process.LiveHeap() - before
					replace <- struct{}{}
					expectNodes(t, nodes, "200000", 1)
					left := process.LiveHeap() - before
					t.Logf("%.0f KB for %d objects, %.0f KB for one", full/1024, heapNodes, left/1024)
					if left > 4<<20 {
						t.Errorf("one object of %d keeps %.0f KB of %.0f alive", heapNodes, left/1024, full/1024)
					}
					runtime.KeepAlive(nodes)
				})
			}
		}
	}
}

// runUntilCleanup runs an informer until the test ends.
func runUntilCleanup[T cache.Object](t *testing.T, informer *cache.SharedInformer[T]) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- informer.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := cachetest.Next(t, stopped); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// expectNodes waits until the store has reached a version, and checks the number of objects.
func expectNodes(t *testing.T, nodes *cache.SharedInformer[*corev1.Node], version string, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), cachetest.Timeout)
	defer cancel()
	if err := nodes.WaitForResourceVersion(ctx, version); err != nil {
		t.Fatal(err)
	}
	if got := nodes.Store().Len(); got != want {
		t.Errorf("%d objects at %s, want %d", got, version, want)
	}
}

// manyNodes returns the bytes of a list of Nodes.
func manyNodes(f cachetest.Format) []byte {
	all := make([]*corev1.Node, heapNodes)
	for i := range all {
		all[i] = manyNode(i)
	}
	return f.Nodes("100000", all...)
}

// deletions returns the bytes of the deletions of all Nodes but keptNode.
func deletions(f cachetest.Format) []byte {
	var b []byte
	for i := range heapNodes {
		if i == keptNode {
			continue
		}
		node := cachetest.Node(fmt.Sprintf("node-%05d", i), fmt.Sprint(100_001+i))
		b = append(b, f.Event(watch.Deleted, node)...)
	}
	end := cachetest.Node("", "200000")
	end.UID = ""
	return append(b, f.Event(watch.Bookmark, end)...)
}

// manyNode returns the ith Node, of about a kilobyte.
func manyNode(i int) *corev1.Node {
	node := cachetest.Node(fmt.Sprintf("node-%05d", i), fmt.Sprint(i+1))
	node.Annotations = map[string]string{"large": strings.Repeat(fmt.Sprintf("%08d", i*7919), 100)}
	return node
}
