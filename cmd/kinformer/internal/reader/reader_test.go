// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reader_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/clustertest"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/collection"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/reader"
	"github.com/kinformer/kinformer/fake"
)

// harness is a server with a number of Pods, and a client.
type harness struct {
	*clustertest.Server
	client *cluster.Client
}

func start(t *testing.T, pods int) *harness {
	t.Helper()
	server := clustertest.Start(t, fake.APIServerOptions{
		CustomResources: []fake.CustomResource{{Group: "example.com", Versions: []string{"v1"}, Kind: "Widget"}},
	})
	h := &harness{server, server.Client(cluster.Options{})}
	h.createPods(0, pods)
	return h
}

func (h *harness) createPods(from, to int) {
	for i := from; i < to; i++ {
		h.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: []string{"a", "b"}[i%2], Name: fmt.Sprintf("pod-%04d", i)}})
	}
}

func (h *harness) estimate(t *testing.T, resource, namespace string) reader.Estimate {
	t.Helper()
	r := h.Resource(h.client, resource)
	e, err := reader.EstimateResource(h.client, r, namespace, accept)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func read(t *testing.T, h *harness, e reader.Estimate) *collection.Collection {
	t.Helper()
	c, err := (&reader.Reader{Client: h.client}).Read(e)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestResourceIsReadOnceInPages(t *testing.T) {
	h := start(t, 1203)
	e := h.estimate(t, "pods", "")
	h.ExpectRequests("list pods limit=1")
	if e.Objects != 1203 || e.Requests != 3 || e.Unknown || e.Bytes < 1203*20 {
		t.Errorf("estimate %+v, want 1203 objects in 3 requests", e)
	}

	var pages []reader.Received
	r := reader.Reader{Client: h.client, OnPage: func(got reader.Received) { pages = append(pages, got) }}
	c, err := r.Read(e)
	if err != nil {
		t.Fatal(err)
	}
	h.ExpectRequests("list pods limit=500", "list pods limit=500 continued", "list pods limit=500 continued")
	if got := podNames(t, c); len(got) != 1203 || !slices.IsSorted(got) {
		t.Errorf("read %d Pods, want 1203 in the order of the list", len(got))
	}
	if len(pages) != 3 || pages[0].Objects != 500 || pages[2] != (reader.Received{Objects: 1203, Bytes: c.WireBytes, Pages: 3}) {
		t.Errorf("OnPage called with %+v", pages)
	}
	expectDescription(t, h, c)
}

// podNames decodes a collection of Pods.
func podNames(t *testing.T, c *collection.Collection) []string {
	t.Helper()
	var names []string
	for _, item := range c.Items {
		var pod corev1.Pod
		if err := pod.Unmarshal(item); err != nil {
			t.Fatal(err)
		}
		names = append(names, pod.Namespace+"/"+pod.Name)
	}
	return names
}

func expectDescription(t *testing.T, h *harness, c *collection.Collection) {
	t.Helper()
	if c.Resource != corev1.SchemeGroupVersion.WithResource("pods") || c.Kind != "Pod" || c.ListKind != "PodList" || !c.Namespaced {
		t.Errorf("collection of %v, %s, %s, namespaced %v", c.Resource, c.Kind, c.ListKind, c.Namespaced)
	}
	if c.ContentType != runtime.ContentTypeProtobuf || c.ResourceVersion != h.ResourceVersion() || c.WireBytes <= c.ItemBytes() {
		t.Errorf("%s at %s, %d bytes with %d of items", c.ContentType, c.ResourceVersion, c.WireBytes, c.ItemBytes())
	}
}

func TestOneNamespaceIsRead(t *testing.T) {
	h := start(t, 10)
	c := read(t, h, h.estimate(t, "pods", "a"))
	h.ExpectRequests("list pods limit=1 in a", "list pods limit=500 in a")
	if len(c.Items) != 5 {
		t.Errorf("%d Pods, want 5", len(c.Items))
	}
}

func TestCustomResourcesAreReadAsJSON(t *testing.T) {
	h := start(t, 0)
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "a", "name": "w"}, "spec": map[string]any{"size": "7"},
	}}
	h.Create(widget)
	c := read(t, h, h.estimate(t, "widgets.example.com", ""))
	if c.ContentType != runtime.ContentTypeJSON || c.ListKind != "WidgetList" || len(c.Items) != 1 || !strings.Contains(string(c.Items[0]), `"size":"7"`) {
		t.Errorf("%s of %s: %s", c.ContentType, c.ListKind, c.Items)
	}
}

func TestFormatIsTheOneThatIsAccepted(t *testing.T) {
	h := start(t, 2)
	e, err := reader.EstimateResource(h.client, h.Resource(h.client, "pods"), "", runtime.ContentTypeJSON)
	if err != nil {
		t.Fatal(err)
	}
	c := read(t, h, e)
	if c.ContentType != runtime.ContentTypeJSON || len(c.Items) != 2 || !strings.Contains(string(c.Items[0]), `"name":"pod-0000"`) {
		t.Errorf("%s: %s", c.ContentType, c.Items)
	}
}

func TestEmptyResourceTakesOneRequest(t *testing.T) {
	h := start(t, 0)
	if e := h.estimate(t, "pods", ""); e.Objects != 0 || e.Requests != 0 || e.Bytes != 0 {
		t.Errorf("estimate %+v, want zeros", e)
	}
	h.ExpectRequests("list pods limit=1")
}

func TestExpiredListIsNotRestarted(t *testing.T) {
	h := start(t, 1100)
	e := h.estimate(t, "pods", "")
	h.Requests()
	second := func(r fake.APIRequest) bool { return r.HTTP.URL.Query().Has("continue") }
	h.InjectFault(1, second, fake.Fault{Err: apierrors.NewResourceExpired("too old")})
	_, err := (&reader.Reader{Client: h.client}).Read(e)
	if err == nil || !apierrors.IsResourceExpired(err) || !strings.Contains(err.Error(), "read pods, after 500 objects: the list expired") {
		t.Errorf("error %v", err)
	}
	h.ExpectRequests("list pods limit=500", "list pods limit=500 continued")
}

func TestBrokenConnectionIsNotRetried(t *testing.T) {
	h := start(t, 400)
	e := h.estimate(t, "pods", "")
	h.Requests()
	h.InjectFault(1, nil, fake.Fault{CutAfterBytes: 3000})
	_, err := (&reader.Reader{Client: h.client}).Read(e)
	if err == nil || !strings.HasPrefix(err.Error(), "read pods, after ") || strings.Contains(err.Error(), "pod-") {
		t.Errorf("error %v", err)
	}
	h.ExpectRequests("list pods limit=500")
}

func TestRequestsAreBounded(t *testing.T) {
	h := start(t, 500)
	e := h.estimate(t, "pods", "")
	h.createPods(500, 1600)
	h.Requests()
	_, err := (&reader.Reader{Client: h.client}).Read(e)
	if err == nil || !strings.Contains(err.Error(), "1 pages were expected, and there are more") {
		t.Errorf("error %v", err)
	}
	h.ExpectRequests("list pods limit=500", "list pods limit=500 continued")
}

func TestLimits(t *testing.T) {
	h := start(t, 1203)
	e := h.estimate(t, "pods", "")
	size := read(t, h, e).WireBytes
	double := func(_, bytes int64, _ string) int64 { return 2 * bytes }
	one, all := "list pods limit=500", "list pods limit=500 continued"
	for name, c := range map[string]struct {
		limits   reader.Limits
		want     error
		requests []string
	}{
		"none":              {reader.Limits{}, nil, []string{one, all, all}},
		"sufficient":        {reader.Limits{Objects: 1203, Bytes: size, Memory: 2 * size, MemoryFor: double}, nil, []string{one, all, all}},
		"objects":           {reader.Limits{Objects: 1202}, reader.ErrTooMany, []string{one}},
		"bytes":             {reader.Limits{Bytes: size * 9 / 10}, reader.ErrTooMany, []string{one}},
		"memory":            {reader.Limits{Memory: size * 18 / 10, MemoryFor: double}, reader.ErrTooLittle, []string{one}},
		"within first page": {reader.Limits{Memory: size / 4, MemoryFor: double}, reader.ErrTooLittle, []string{one}},
	} {
		t.Run(name, func(t *testing.T) {
			h.Requests()
			_, err := (&reader.Reader{Client: h.client, Limits: c.limits}).Read(e)
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			h.ExpectRequests(c.requests...)
		})
	}
}

func TestLimitsHoldForAllResourcesTogether(t *testing.T) {
	h := start(t, 400)
	e := h.estimate(t, "pods", "")
	r := reader.Reader{Client: h.client, Limits: reader.Limits{Objects: 700}}
	if _, err := r.Read(e); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(e); !errors.Is(err, reader.ErrTooMany) || !strings.Contains(err.Error(), "after 301 objects") {
		t.Errorf("error %v, want %v", err, reader.ErrTooMany)
	}
}

// TestRefusalIsAboutOneResource checks errors that are no status of the server.
