// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// expectNotStored checks the reads of a Node that could never be stored, because of an error with
// the text cause.
func expectNotStored(t *testing.T, nodes cache.Reader[*corev1.Node], name, cause string) {
	t.Helper()
	isNotStored := func(err error) bool {
		return errors.Is(err, cache.ErrNotStored) && !apierrors.IsNotFound(err) && strings.Contains(err.Error(), cause)
	}
	if node, err := cache.NewLister(nodes, corev1.Resource("nodes")).Get(name); node != nil || !isNotStored(err) {
		t.Errorf("Lister.Get(%s) = %v, %v", name, node, err)
	}
	if node, exists := nodes.GetByKey(name); exists {
		t.Errorf("GetByKey(%s) = %v", name, node)
	}
	if err := nodes.KeyError(name); !isNotStored(err) {
		t.Errorf("KeyError(%s) = %v", name, err)
	}
	if _, listed := nodes.Snapshot().GetByKey(name); listed || nodes.Len() != len(nodes.List()) || slices.Contains(nodes.ListKeys(), name) {
		t.Errorf("Len() = %d, %d listed, keys %q", nodes.Len(), len(nodes.List()), nodes.ListKeys())
	}
}

func expectStored(t *testing.T, nodes cache.Reader[*corev1.Node], name string) {
	t.Helper()
	if node, err := cache.NewLister(nodes, corev1.Resource("nodes")).Get(name); err != nil || nodes.KeyError(name) != nil {
		t.Errorf("Lister.Get(%s) = %v, %v, KeyError returns %v", name, node, err, nodes.KeyError(name))
	}
}

// serveAfter sends the beginning of a body at once, and serves the rest after done is closed.
func serveAfter(contentType string, begin []byte, done <-chan struct{}, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		cachetest.Serve(contentType, begin)(w, r)
		w.(http.Flusher).Flush()
		waitFor(done, serve)(w, r)
	}
}

// arrivals are the ways in which the undecodable Node b arrives: the list, and the first events of
// the watch. The Node a is good.
var arrivals = map[string]func(f cachetest.Format) (list, events []byte){
	"list": func(f cachetest.Format) (list, events []byte) {
		return nodesWithUndecodable(f, "3", 1, cachetest.Node("a", "1"), cachetest.Node("b", "2")), nil
	},
	"watch": func(f cachetest.Format) (list, events []byte) {
		return f.Nodes("1", cachetest.Node("a", "1")), f.Frame(watch.Added, undecodableNode(f, "b", "2"))
	},
	"WatchList": func(f cachetest.Format) (list, events []byte) {
		end := cachetest.Node("", "3")
		end.UID, end.Annotations = "", map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		return nil, slices.Concat(f.Event(watch.Added, cachetest.Node("a", "1")), f.Frame(watch.Added, undecodableNode(f, "b", "2")), f.Event(watch.Bookmark, end))
	},
}

func undecodableNode(f cachetest.Format, name, version string) []byte {
	node := cachetest.Node(name, version)
	node.TypeMeta = cachetest.TypeMeta("Node")
	return undecodable(f, node)
}

// notStoredScript returns a server of the Node b, which cannot be decoded until repaired is closed.
func notStoredScript(t *testing.T, f cachetest.Format, arrival string, repaired <-chan struct{}) *cachetest.Script {
	t.Helper()
	list, events := arrivals[arrival](f)
	s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(f.ListType, list)}, nil)
	s.Watches = []http.HandlerFunc{serveAfter(f.WatchType, events, repaired, s.ServeOpen(f.WatchType, f.Event(watch.Modified, cachetest.Node("b", "4"))))}
	return s
}

// TestUndecodableObjectDoesNotLookDeleted sends an object of which only the metadata can be
// decoded, in each format, by each kind of request, for live and packed objects.
func TestUndecodableObjectDoesNotLookDeleted(t *testing.T) {
	for name, f := range cachetest.Formats {
		for arrival := range arrivals {
			for stored, packed := range map[string]bool{"live": false, "packed": true} {
				t.Run(strings.Join([]string{name, arrival, stored}, " "), func(t *testing.T) {
					repaired := make(chan struct{})
					s := notStoredScript(t, f, arrival, repaired)
					options := cache.InformerOptions[*corev1.Node]{Packed: packed}
					if arrival == "WatchList" {
						options.WatchList = true
					}
					h := runNodes(t, s, options)
					h.expectEvent(t, "A a@1")
					h.expectQuarantined(t)
					expectNotStored(t, h.nodes.Store(), "b", "decode")
					close(repaired)
					h.expectEvent(t, "A b@4")
					expectStored(t, h.nodes.Store(), "b")
					if err := h.nodes.HealthCheck(cache.HealthOptions{FailOnQuarantined: true})(nil); err != nil {
						t.Errorf("after a good state: %v", err)
					}
					if status := h.nodes.Status(); status.Store.Quarantined != 0 || len(status.Store.QuarantinedKeys) != 0 || !status.Requests.Streaming {
						t.Errorf("status %+v after a good state", status)
					}
				})
			}
		}
	}
}

// nodesHarness is an informer of the Nodes of a Script.
type nodesHarness struct {
	nodes  *cache.SharedInformer[*corev1.Node]
	events chan string
	errors chan error
}

// runNodes runs an informer until the test ends.
func runNodes(t *testing.T, s *cachetest.Script, options cache.InformerOptions[*corev1.Node]) *nodesHarness {
	t.Helper()
	h := &nodesHarness{events: make(chan string, 100), errors: make(chan error, 100)}
	options.ErrorHandler = func(_ context.Context, err error) { cachetest.TrySend(h.errors, err) }
	h.nodes = cache.NewSharedInformer(cachetest.NodesOf(s.Config()), &corev1.Node{}, options)
	if _, err := h.nodes.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.Node]{
		AddFunc: func(n *corev1.Node) { h.events <- "A " + cachetest.NameAtVersion(n) },
	}, cache.HandlerOptions{}); err != nil {
		t.Fatal(err)
	}
	runUntilCleanup(t, h.nodes)
	return h
}

func (h *nodesHarness) expectEvent(t *testing.T, want string) {
	t.Helper()
	if got := cachetest.Next(t, h.events); got != want {
		t.Fatalf("event %q, want %q", got, want)
	}
}

// expectQuarantined checks the status and the health check after the error on b has been reported.
func (h *nodesHarness) expectQuarantined(t *testing.T) {
	t.Helper()
	var object *cache.ObjectError
	if err := cachetest.Next(t, h.errors); !errors.As(err, &object) || object.Key != "b" || object.Effect != cache.EffectAbsent {
		t.Errorf("reported %v, want that b is not stored", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), cachetest.Timeout)
	defer cancel()
	if err := h.nodes.WaitForResourceVersion(ctx, "2"); err != nil {
		t.Error(err)
	}
	status := h.nodes.Status()
	if len(status.Store.QuarantinedKeys) != 1 || status.Store.QuarantinedKeys[0].Key != "b" || status.Store.Quarantined != 1 || status.Store.Objects != 1 {
		t.Errorf("status %+v", status)
	}
	if err := h.nodes.HealthCheck(cache.HealthOptions{FailOnQuarantined: true})(nil); !errors.Is(err, cache.ErrNotStored) {
		t.Errorf("health check: %v", err)
	}
	if err := h.nodes.HealthCheck(cache.HealthOptions{})(nil); err != nil {
		t.Errorf("health check without FailOnQuarantined: %v", err)
	}
}

// decoderErrors are parts of the errors of the clients' decoders.
var decoderErrors = map[string]string{"JSON": "cannot unmarshal array into Go struct field", "protobuf": "unexpected EOF"}

// TestClientRefusesListWithUndecodableObject lists without streaming: the client refuses the whole
// list, and WaitForSync returns the error of its decoder. The informer syncs once the object is
// gone.
func TestClientRefusesListWithUndecodableObject(t *testing.T) {
	for name, f := range cachetest.Formats {
		t.Run(name, func(t *testing.T) {
			var repaired atomic.Bool
			s := cachetest.NewScript(t, []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
				list := nodesWithUndecodable(f, "3", 1, cachetest.Node("a", "1"), cachetest.Node("b", "2"))
				if repaired.Load() {
					list = f.Nodes("4", cachetest.Node("a", "1"))
				}
				cachetest.Serve(f.ListType, list)(w, r)
			}}, nil)
			s.Watches = []http.HandlerFunc{s.ServeOpen(f.WatchType, nil)}
			config := s.Config()
			config.ContentType = f.ListType
			h := cachetest.RunOverNetwork(t, cache.ListWatchOf(corev1client.NewForConfigOrDie(config).Nodes()), &corev1.Node{})
			reported := cachetest.Next(t, h.Errors)
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			if err := h.Controller.WaitForDelivery(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), decoderErrors[name]) {
				t.Errorf("WaitForSync: %v, want %q", err, decoderErrors[name])
			}
			if !strings.Contains(reported.Error(), decoderErrors[name]) {
				t.Errorf("reported %v, want %q", reported, decoderErrors[name])
			}
			if status := h.Controller.Status(); status.Synced || status.Store.Objects != 0 || status.Store.Quarantined != 0 {
				t.Errorf("status %+v", status)
			}
			repaired.Store(true)
			h.Expect("A a@1")
		})
	}
}
