// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/e2e/cluster"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/follow"
)

// TestFollowerOfManyDefinitions installs 900 definitions with an annotation of 100 kB each while a
// follower runs, and waits until it knows all of their resources.
func TestFollowerOfManyDefinitions(t *testing.T) {
	const many = 900
	c := cluster.New(t, cluster.Options{})
	client := dynamic.NewForConfigOrDie(c.Config())
	config := c.Config()
	traffic := &traffic{}
	config.Wrap(traffic.wrap)
	cache.EnableStreaming(config)
	heap := liveHeap()
	follower := follow.New(metadata.NewForConfigOrDie(config), discovery.NewDiscoveryClientForConfigOrDie(config), follow.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- follower.Run(ctx) }()
	await(t, "the follower runs", func(context.Context) error {
		if follower.Status().Requests == 0 {
			return fmt.Errorf("%+v", follower.Status())
		}
		return nil
	})
	group := func(i int) string { return fmt.Sprintf("group-%d.example.com", i) }
	began := time.Now()
	var next atomic.Int64
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < many; i = int(next.Add(1)) - 1 {
				definition := fake.CustomResource{Group: group(i), Versions: []string{"v1"}, Kind: "Gadget"}.Definition()
				definition.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("schema ", 100_000/7)})
				if _, err := client.Resource(definitions).Create(ctx, definition, metav1.CreateOptions{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
	t.Logf("installed within %s; %s; %+v", time.Since(began), traffic, follower.Status())
	limit, done := context.WithTimeout(ctx, 5*time.Minute)
	defer done()
	for i := range many {
		if err := follower.WaitForServed(limit, schema.GroupVersionResource{Group: group(i), Version: "v1", Resource: "gadgets"}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("all known after %s; %s; %+v; %d kB of heap", time.Since(began), traffic, follower.Status(), (liveHeap()-heap)>>10)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// liveHeap returns the bytes of the objects that are in use. Those that a sync.Pool keeps for its
// next users survive the first collection, and not the second.
func liveHeap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// traffic counts the bytes of responses, by path.
type traffic struct {
	definitions, discovery atomic.Int64
	requests               atomic.Int64 // for discovery
}

func (c *traffic) String() string {
	return fmt.Sprintf("%d kB of definitions, %d kB of %d discovery responses", c.definitions.Load()>>10, c.discovery.Load()>>10, c.requests.Load())
}

func (c *traffic) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil {
			return response, err
		}
		count := &c.definitions
		if request.URL.Path == "/apis" {
			count = &c.discovery
			c.requests.Add(1)
		}
		response.Body = &countedBody{response.Body, count}
		return response, nil
	})
}

type countedBody struct {
	io.ReadCloser
	count *atomic.Int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.count.Add(int64(n))
	return n, err
}
