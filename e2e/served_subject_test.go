// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/follow"
)

// firstRequestTimeout is how long after discovery lists a resource an informer may request it. It
// is long for slow machines: TestDefinitionThatComesAndGoesUnderLoad of package follow shows, in a
// bubble, that it takes a second at most.
const firstRequestTimeout = 30 * time.Second

// servedHarness has a follower, and informers of a resource that may come and go.
type servedHarness struct {
	follower *follow.Follower
	answers  *discoveryAnswers
	subjects []*servedSubject
	stop     func()
	last     []count // of each subject, after the last round
}

// startServed starts a follower, and informers of a resource: of its metadata and of whole objects,
// packed and not. All are stopped at the end of the test.
func startServed(t *testing.T, config *rest.Config, resource schema.GroupVersionResource) *servedHarness {
	t.Helper()
	h := &servedHarness{answers: &discoveryAnswers{text: `"resource":"` + resource.Resource + `"`, group: resource.Group}}
	own := rest.CopyConfig(config)
	own.Wrap(h.answers.wrap)
	cache.EnableStreaming(own)
	h.follower = follow.New(metadata.NewForConfigOrDie(own), discovery.NewDiscoveryClientForConfigOrDie(own), follow.Options{})
	runs := []func(context.Context) error{h.follower.Run}
	for _, packed := range []bool{false, true} {
		whole := newServedSubject(config, fmt.Sprintf("unstructured, packed %t", packed))
		runs = append(runs, follows(t, whole, cache.ListWatchOf(dynamic.NewForConfigOrDie(whole.config).Resource(resource)), &unstructured.Unstructured{}, packed, h.follower.Resource(resource)))
		meta := newServedSubject(config, fmt.Sprintf("metadata, packed %t", packed))
		runs = append(runs, follows(t, meta, cache.ListWatchOf(metadata.NewForConfigOrDie(meta.config).Resource(resource)), &metav1.PartialObjectMetadata{}, packed, h.follower.Resource(resource)))
		h.subjects = append(h.subjects, whole, meta)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- cache.RunAll(ctx, runs...) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(h.stop)
	return h
}

// servedSubject is an informer that follows a resource, and what its handler has received.
type servedSubject struct {
	name     string
	config   *rest.Config
	requests *requests
	status   func() cache.Status
	keyError func(key string) error

	mu   sync.Mutex // guards seen
	seen map[string]*servedObject
}

// servedObject is the number of the events of an object, by its UID.
type servedObject struct{ added, deleted, left, unknown int }

func newServedSubject(config *rest.Config, name string) *servedSubject {
	s := &servedSubject{name: name, config: rest.CopyConfig(config), requests: &requests{}, seen: make(map[string]*servedObject)}
	s.config.Wrap(s.requests.wrap)
	cache.EnableStreaming(s.config)
	return s
}

// follows makes the informer of a subject, and returns its Run.
func follows[T cache.Object](t *testing.T, s *servedSubject, lw cache.ListerWatcher, example T, packed bool, served *cache.Served) func(context.Context) error {
	t.Helper()
	informer := cache.NewSharedInformer(lw, example, cache.InformerOptions[T]{Packed: packed, Served: served})
	s.status, s.keyError = informer.Status, informer.Store().KeyError
	_, err := informer.AddEventHandler(cache.EventHandlerFunc[T](func(e cache.Event[T]) {
		s.record(e.Type, string(e.Object().GetUID()), e.LeftScope, e.FinalStateUnknown)
	}), cache.HandlerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return informer.Run
}

func (s *servedSubject) record(e cache.EventType, uid string, left, unknown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.seen[uid]
	if o == nil {
		o = &servedObject{}
		s.seen[uid] = o
	}
	switch e {
	case cache.EventAdd:
		o.added++
	case cache.EventUpdate:
	case cache.EventDelete:
		o.deleted++
		if left {
			o.left++
		}
		if unknown {
			o.unknown++
		}
	}
}

// awaitObjects waits until the handler has received what done requires of each object.
func (s *servedSubject) awaitObjects(t *testing.T, what string, uids []string, done func(servedObject) bool) {
	t.Helper()
	await(t, s.name+": "+what, func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, uid := range uids {
			if o := s.seen[uid]; o == nil || !done(*o) {
				return fmt.Errorf("%s: %+v; %+v", uid, o, s.status())
			}
		}
		return nil
	})
}

func (s *servedSubject) awaitPhase(t *testing.T, phase cache.Phase) {
	t.Helper()
	await(t, s.name, func(context.Context) error {
		if status := s.status(); status.Phase != phase {
			return fmt.Errorf("is in the phase %s: %w", status.Phase, status.Err)
		}
		return nil
	})
}

// expectNotServed checks that reads of an informer whose resource is not served say so.
func (s *servedSubject) expectNotServed(t *testing.T) {
	t.Helper()
	if err := s.keyError("default/widget"); !errors.Is(err, cache.ErrNotServed) {
		t.Errorf("%s: a read returns %v, want ErrNotServed", s.name, err)
	}
}

// sent returns the number of requests, and of those that were answered with 404.
func (r *requests) sent() (all, notFound int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.all {
		if one.status == http.StatusNotFound {
			notFound++
		}
	}
	return len(r.all), notFound
}

// discoveryAnswers records the discovery requests of a follower.
type discoveryAnswers struct {
	group, text string

	mu        sync.Mutex // guards the fields below
	lists     bool       // the last answer lists the resource
	listed    time.Time  // when an answer first listed the resource, since the last call of reset
	requests  int
	unchanged int
	bytes     int
}

func (d *discoveryAnswers) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil || request.URL.Path != "/apis" {
			return response, err
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		response.Body = io.NopCloser(bytes.NewReader(body))
		d.mu.Lock()
		defer d.mu.Unlock()
		d.requests++
		d.bytes += len(body)
		if response.StatusCode == http.StatusNotModified {
			d.unchanged++
		} else {
			_, after, found := strings.Cut(string(body), `"name":"`+d.group+`"`)
			d.lists = found && strings.Contains(after, d.text)
		}
		if d.lists && d.listed.IsZero() {
			d.listed = time.Now()
		}
		return response, err
	})
}

func (d *discoveryAnswers) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listed = time.Time{}
}
