// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/process"
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

// Definitions with large annotations are installed at once: few discovery requests, each resource
// is known to be served, and little memory is kept.
func TestManyDefinitionsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ofDiscovery, ofDefinitions atomic.Int64
		h := newHarness(t, func(config *rest.Config) {
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
		})
		h.start(h.follower.Run)
		after(3 * time.Second)
		before, began := h.follower.Status().Requests, time.Now()
		resource := func(n int) schema.GroupVersionResource {
			return schema.GroupVersionResource{Group: fmt.Sprintf("group-%d.example.com", n), Version: "v1", Resource: "gadgets"}
		}
		random, schemas := rand.NewChaCha8([32]byte{}), make([]byte, 75_000) // 100 kB of text
		for n := range manyDefinitions {
			definition := fake.CustomResource{Group: resource(n).Group, Versions: []string{"v1"}, Kind: "Gadget"}.Definition()
			_, _ = random.Read(schemas)
			definition.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": base64.StdEncoding.EncodeToString(schemas)})
			noError(t, h.server.Create(definition))
		}
		for n := range manyDefinitions {
			noError(t, h.follower.WaitForServed(t.Context(), resource(n)))
		}
		waited := time.Since(began)
		after(time.Minute)
		status := h.follower.Status()
		if status.Definitions != manyDefinitions || status.Err != nil {
			t.Errorf("status %+v", status)
		}
		if n := status.Requests - before; waited > 5*time.Second || n > 12 {
			t.Errorf("served after %v, %d discovery requests", waited, n)
		}
		// The first answer has no definitions. How many the later ones have, and so how many
		// answers there are, is the scheduler's choice.
		answers := int64(status.Requests - status.Unchanged)
		if n, limit := ofDiscovery.Load(), answers*55_000+(answers-1)*manyDefinitions*400; n > limit {
			t.Errorf("%d bytes of discovery in %d answers, want at most %d", n, answers, limit)
		}
		packed := int64(0)
		for _, view := range h.follower.Views() {
			packed += view.Status().Store.PackedBytes
		}
		heap := process.LiveHeap()
		h.stop()
		h.follower, h.client, h.config = nil, nil, nil
		heap -= process.LiveHeap()
		if limit := 1_500_000.0 + manyDefinitions*3_000; heap > limit {
			t.Errorf("the follower keeps %.0f bytes, want at most %.0f", heap, limit)
		}
		t.Logf("%d definitions: served after %v; %d discovery requests with %d bytes, %d of them unchanged; %d bytes of definitions, of which %d are kept; %.0f bytes of heap",
			manyDefinitions, waited, status.Requests, ofDiscovery.Load(), status.Unchanged, ofDefinitions.Load(), packed, heap)
	})
}
