// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/e2e/cluster"
	"github.com/kinformer/kinformer/fake"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// rounds is how often a definition is created and deleted. Four of them take a minute, as the
// server answers at most four lists in any minute.
const rounds = 10

// TestInformersFollowDefinition creates a definition and deletes it again, many times, while its
// objects are written. Every object is added once and deleted once, and nothing requests the
// resource while it is absent.
func TestInformersFollowDefinition(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{})
	client := dynamic.NewForConfigOrDie(c.Config())
	custom := fake.CustomResource{Group: "follow.example.com", Versions: []string{"v1"}, Kind: "Gadget"}
	gadgets := schema.GroupVersionResource{Group: custom.Group, Version: "v1", Resource: "gadgets"}
	h := startServed(t, c.Config(), gadgets)
	var confirmed, unknown int
	var slowest, longest time.Duration
	for round := range rounds {
		for _, s := range h.subjects {
			s.awaitPhase(t, cache.PhaseNotServed)
		}
		before := h.sent()
		h.answers.reset()
		createUnstructured(t, client.Resource(definitions), custom.Definition())
		writer := startGadgets(t, client.Resource(gadgets).Namespace("default"), round)
		for _, s := range h.subjects {
			s.awaitObjects(t, "adds the objects", writer.uids, func(o servedObject) bool { return o.added == 1 && o.deleted == 0 })
		}
		for i, s := range h.subjects {
			took := s.firstAfter(before[i].all).Sub(h.answers.firstListed())
			if slowest = max(slowest, took); took > time.Minute+firstRequestTimeout {
				t.Errorf("round %d: %s: the first request followed %s after discovery", round, s.name, took)
			}
		}
		began := time.Now()
		if err := client.Resource(definitions).Delete(t.Context(), gadgets.GroupResource().String(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, s := range h.subjects {
			s.awaitObjects(t, "deletes the objects", writer.uids, func(o servedObject) bool { return o.added == 1 && o.deleted == 1 && o.left == 0 })
			s.awaitPhase(t, cache.PhaseNotServed)
		}
		longest = max(longest, time.Since(began))
		writer.stop()
		absent := h.sent()
		for i, s := range h.subjects {
			if watches := s.requests.openWatches(); len(watches) > 0 {
				t.Errorf("round %d: %s: %d watches are open", round, s.name, len(watches))
			}
			confirmed += absent[i].notFound - before[i].notFound
			if round > 0 && before[i] != h.last[i] {
				t.Errorf("round %d: %s: requests of an absent resource: %+v, then %+v", round, s.name, h.last[i], before[i])
			}
		}
		h.last = absent
	}
	objects := 0
	for _, s := range h.subjects {
		for _, o := range s.seen {
			objects++
			unknown += o.unknown
			if o.added != 1 || o.deleted != 1 || o.left != 0 {
				t.Errorf("%s: an object has the events %+v", s.name, o)
			}
		}
	}
	h.stop()
	for _, s := range h.subjects {
		all, notFound := s.requests.sent()
		t.Logf("%s: %d requests, %d of them 404", s.name, all, notFound)
	}
	t.Logf("%d objects, %d of their deletions with an unknown final state; the first request at most %s after discovery; absent at most %s after the deletion; %d requests answered 404; %d discovery requests, %d unchanged, %d kB; follower: %+v",
		objects, unknown, slowest, longest, confirmed, h.answers.requests, h.answers.unchanged, h.answers.bytes>>10, h.follower.Status())
}

// count is the number of requests, and of those answered with 404.
type count struct{ all, notFound int }

func (h *servedHarness) sent() (counts []count) {
	for _, s := range h.subjects {
		all, notFound := s.requests.sent()
		counts = append(counts, count{all, notFound})
	}
	return counts
}

// firstAfter returns the time of the first request after the first n.
func (s *servedSubject) firstAfter(n int) time.Time {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	return s.requests.all[n].at
}

func (d *discoveryAnswers) firstListed() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.listed
}

// gadgetWriter updates objects until stop is called, or they are gone.
type gadgetWriter struct {
	uids []string
	stop func()
}

const gadgetsPerRound = 10

// startGadgets creates objects as soon as their resource is served, and then updates them.
func startGadgets(t *testing.T, client dynamic.ResourceInterface, round int) *gadgetWriter {
	t.Helper()
	w := &gadgetWriter{}
	name := func(i int) string { return fmt.Sprintf("gadget-%d", i) }
	for i := range gadgetsPerRound {
		gadget := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "follow.example.com/v1", "kind": "Gadget", "metadata": map[string]any{"name": name(i)}, "spec": map[string]any{"round": int64(round)},
		}}
		await(t, "an object is created", func(ctx context.Context) error {
			created, err := client.Create(ctx, gadget, metav1.CreateOptions{})
			if err == nil {
				w.uids = append(w.uids, string(created.GetUID()))
			}
			return err
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var writes atomic.Int64
	running.Go(func() {
		for ctx.Err() == nil {
			n := writes.Add(1)
			patch := fmt.Appendf(nil, `{"spec": {"size": %d}}`, n)
			_, err := client.Patch(ctx, name(int(n)%gadgetsPerRound), types.MergePatchType, patch, metav1.PatchOptions{})
			if err != nil && !apierrors.IsNotFound(err) && !errors.Is(err, context.Canceled) && !apierrors.IsMethodNotSupported(err) {
				t.Logf("update during the deletion: %v", err)
			}
			if apierrors.IsNotFound(err) {
				return
			}
		}
	})
	w.stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(w.stop)
	return w
}
