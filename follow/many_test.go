// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/follow"
)

// countedBody counts the bytes of responses.
type countedBody struct {
	io.ReadCloser

	n *atomic.Int64
}

func (b countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n.Add(int64(n))
	return n, err
}

// roundTripper is a function that is an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// Definitions with large annotations are installed at once: few discovery requests, and each resource is
// known to be served.
func TestManyDefinitionsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := fake.StartAPIServer(fake.APIServerOptions{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close(context.WithoutCancel(t.Context()))
		var ofDiscovery, ofDefinitions atomic.Int64
		config := server.Config()
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(request *http.Request) (*http.Response, error) {
				response, err := next.RoundTrip(request)
				if err != nil {
					return nil, err
				}
				n := &ofDefinitions
				if request.URL.Path == "/apis" || request.URL.Path == "/api" {
					n = &ofDiscovery
				}
				response.Body = countedBody{response.Body, n}
				return response, nil
			})
		})
		cache.EnableStreaming(config)
		follower := follow.New(metadata.NewForConfigOrDie(config), discovery.NewDiscoveryClientForConfigOrDie(config), follow.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- follower.Run(ctx) }()
		<-time.After(3 * time.Second)
		before, began := follower.Status().Requests, time.Now()
		var resources []schema.GroupVersionResource
		for n := range manyDefinitions {
			definition := fake.CustomResource{Group: "example.com", Versions: []string{"v1"}, Kind: fmt.Sprintf("Kind%d", n)}.Definition()
			definition.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("x", 100_000)})
			if err := server.Create(definition); err != nil {
				t.Fatal(err)
			}
			resources = append(resources, schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: fmt.Sprintf("kind%ds", n)})
		}
		for _, resource := range resources {
			if err := follower.WaitForServed(ctx, resource); err != nil {
				t.Fatal(err)
			}
		}
		waited := time.Since(began)
		<-time.After(time.Minute)
		status := follower.Status()
		if status.Definitions != manyDefinitions || status.Err != nil {
			t.Errorf("status %+v", status)
		}
		if n := status.Requests - before; waited > 5*time.Second || n > 12 {
			t.Errorf("served after %v, %d discovery requests", waited, n)
		}
		packed := int64(0)
		for _, view := range follower.Views() {
			packed += view.Status().PackedBytes
		}
		if packed > 5<<20 {
			t.Errorf("the definitions take %d bytes", packed)
		}
		t.Logf("%d definitions: served after %v; %d discovery requests with %d bytes, %d of them unchanged; %d bytes of definitions, of which %d are kept",
			manyDefinitions, waited, status.Requests-before, ofDiscovery.Load(), status.Unchanged, ofDefinitions.Load(), packed)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
