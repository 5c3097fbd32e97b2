// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/follow"
)

// harness has a server in memory, a follower of it and Informers.
type harness struct {
	t        *testing.T
	server   *fake.APIServer
	config   *rest.Config
	client   metadata.Interface
	follower *follow.Follower
	all      *follow.Informers[metaObject] // of tests whose steps need it
	logger   klog.Logger

	stop func() // ends what start has called, which the end of the test does, too

	mu     sync.Mutex // guards events
	events []string
}

// inBubble runs a test with a harness in a bubble. change, if not nil, changes the config of the
// clients.
func inBubble(t *testing.T, change func(*rest.Config), test func(t *testing.T, h *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newHarness(t, change)) })
}

// newHarness starts a server, and returns a harness of it, as inBubble does.
func newHarness(t *testing.T, change func(*rest.Config)) *harness {
	t.Helper()
	server, err := fake.StartAPIServer(fake.APIServerOptions{InMemory: true})
	noError(t, err)
	t.Cleanup(func() { noError(t, server.Close(context.Background())) })
	config := server.Config()
	if change != nil {
		change(config)
	}
	cache.EnableStreaming(config)
	client := metadata.NewForConfigOrDie(config)
	return &harness{
		t: t, server: server, config: config, client: client, logger: ktesting.NewLogger(t, ktesting.NewConfig(ktesting.Verbosity(0), ktesting.BufferLogs(true))),
		follower: follow.New(client, discovery.NewDiscoveryClientForConfigOrDie(config), follow.Options{}),
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start calls Run methods until stop is called.
func (h *harness) start(run ...func(context.Context) error) {
	ctx, cancel := context.WithCancel(klog.NewContext(h.t.Context(), h.logger))
	stopped := make(chan error, 1)
	go func() { stopped <- cache.RunAll(ctx, run...) }()
	h.stop = sync.OnceFunc(func() {
		h.t.Helper()
		cancel()
		noError(h.t, <-stopped)
	})
	h.t.Cleanup(h.stop)
}

// after lets time pass on the clock of the bubble.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// logged returns the number of lines of the log that contain a text.
func (h *harness) logged(text string) int {
	return strings.Count(h.logger.GetSink().(ktesting.Underlier).GetBuffer().String(), text)
}

// define creates the CustomResourceDefinition of a resource of group example.com.
func (h *harness) define(kind string, versions ...string) *unstructured.Unstructured {
	h.t.Helper()
	crd := fake.CustomResource{Group: "example.com", Versions: versions, Kind: kind, StatusSubresource: true}.Definition()
	noError(h.t, h.server.Create(crd))
	return crd
}

// create creates an object of group example.com.
func (h *harness) create(version, kind, name string) {
	h.t.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("example.com/" + version)
	obj.SetKind(kind)
	obj.SetNamespace("ns")
	obj.SetName(name)
	noError(h.t, h.server.Create(obj))
}

// setVersions makes a definition serve the given versions.
func (h *harness) setVersions(crd *unstructured.Unstructured, served ...string) {
	h.t.Helper()
	noError(h.t, h.server.Get(crd))
	versions := crd.Object["spec"].(map[string]any)["versions"].([]any)
	for _, version := range versions {
		version := version.(map[string]any)
		version["served"] = slices.Contains(served, version["name"].(string))
	}
	noError(h.t, h.server.Update(crd))
	after(5 * time.Second)
}

// newWidgets returns an informer of widgets that follows.
func (h *harness) newWidgets() *cache.SharedInformer[metaObject] {
	example := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Widget"}}
	options := cache.InformerOptions[metaObject]{Served: h.follower.Resource(widgets), ErrorHandler: func(context.Context, error) {}}
	return cache.NewSharedInformer(cache.ListWatchOf(h.client.Resource(widgets)), example, options)
}

// of selects the requests for a resource.
func of(resource string) func(fake.APIRequest) bool {
	return func(r fake.APIRequest) bool { return r.Resource == resource }
}

// withoutAggregation makes a server answer as one without aggregated discovery.
func withoutAggregation(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if strings.Contains(request.Header.Get("Accept"), "APIGroupDiscoveryList") {
			request = request.Clone(request.Context())
			request.Header.Set("Accept", "application/json")
		}
		return next.RoundTrip(request)
	})
}

// roundTripper is a function that is an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
