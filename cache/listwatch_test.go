// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// server responds to a list with one Pod and to a watch with its update, as JSON. It records the
// URLs of the requests.
type server struct {
	*httptest.Server
	mu   sync.Mutex // guards urls
	urls []string
	deny bool
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.urls = append(s.urls, r.URL.RequestURI())
	s.mu.Unlock()
	kind, item := "PodList", "Pod"
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
		kind, item = "PartialObjectMetadataList", "PartialObjectMetadata"
	}
	apiVersion := map[bool]string{true: "v1", false: "meta.k8s.io/v1"}[item == "Pod"]
	object := func(rv string) map[string]any {
		return map[string]any{"apiVersion": apiVersion, "kind": item, "metadata": map[string]any{
			"namespace": "ns", "name": "a", "uid": "1", "resourceVersion": rv, "labels": map[string]any{"v": rv}}}
	}
	w.Header().Set("Content-Type", "application/json")
	var body any
	switch {
	case s.deny:
		w.WriteHeader(http.StatusForbidden)
		body = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil).Status()
	case r.URL.Query().Get("watch") != "":
		body = map[string]any{"type": "MODIFIED", "object": object("6")}
	default:
		body = map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"resourceVersion": "5"}, "items": []any{object("5")}}
	}
	_ = json.NewEncoder(w).Encode(body)
}

// take returns the URLs since its last call.
func (s *server) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	urls := s.urls
	s.urls = nil
	return urls
}

func (s *server) config() *rest.Config { return &rest.Config{Host: s.URL, QPS: -1} }

func (s *server) clientset(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	set, err := kubernetes.NewForConfig(s.config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.CoreV1().RESTClient().(*rest.RESTClient).Client.CloseIdleConnections)
	return set
}

// listAndWatch returns the list and the first event of a watch.
func listAndWatch(t *testing.T, lw cache.ListerWatcher) (list runtime.Object, event watch.Event) {
	t.Helper()
	list, err := lw.List(t.Context(), metav1.ListOptions{ResourceVersion: "0", Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	w, err := lw.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "5", AllowWatchBookmarks: true})
	if err != nil {
		t.Fatal(err)
	}
	event = <-w.ResultChan()
	w.Stop()
	for range w.ResultChan() {
	}
	return list, event
}

// TestNewListWatchFromClient checks the URLs of its requests.
func TestNewListWatchFromClient(t *testing.T) {
	s := newServer(t)
	pods := s.clientset(t).CoreV1().RESTClient()
	app := cache.WithLabelSelector(labels.SelectorFromSet(labels.Set{"app": "x"}))
	for name, c := range map[string]struct {
		lw   *cache.ListWatch
		want []string
	}{
		"all namespaces": {cache.NewListWatchFromClient(pods, "pods", metav1.NamespaceAll, nil), []string{
			"/api/v1/pods?limit=500&resourceVersion=0",
			"/api/v1/pods?allowWatchBookmarks=true&resourceVersion=5&watch=true"}},
		"a namespace and fields": {cache.NewListWatchFromClient(pods, "pods", "kube-system", fields.OneTermEqualSelector("spec.nodeName", "n1")), []string{
			"/api/v1/namespaces/kube-system/pods?fieldSelector=spec.nodeName%3Dn1&limit=500&resourceVersion=0",
			"/api/v1/namespaces/kube-system/pods?allowWatchBookmarks=true&fieldSelector=spec.nodeName%3Dn1&resourceVersion=5&watch=true"}},
		"every field": {cache.NewListWatchFromClient(pods, "pods", "", fields.Everything()), []string{
			"/api/v1/pods?limit=500&resourceVersion=0",
			"/api/v1/pods?allowWatchBookmarks=true&resourceVersion=5&watch=true"}},
		"labels and a hook": {cache.NewListWatchFromClient(pods, "pods", "", nil, app, func(o *metav1.ListOptions) { o.Limit = 7; o.AllowWatchBookmarks = false }), []string{
			"/api/v1/pods?labelSelector=app%3Dx&limit=7&resourceVersion=0",
			"/api/v1/pods?labelSelector=app%3Dx&limit=7&resourceVersion=5&watch=true"}},
	} {
		t.Run(name, func(t *testing.T) {
			list, event := listAndWatch(t, c.lw)
			if got := s.take(); !slices.Equal(got, c.want) {
				t.Errorf("requests\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			if pods, ok := list.(*corev1.PodList); !ok || len(pods.Items) != 1 || pods.ResourceVersion != "5" {
				t.Errorf("listed %v", list)
			}
			if p, ok := event.Object.(*corev1.Pod); !ok || event.Type != watch.Modified || p.ResourceVersion != "6" {
				t.Errorf("watched %v", event)
			}
		})
	}
}

// TestListWatchOf checks the requests of typed, dynamic and metadata clients, and that an informer
// of another type returns an error.
func TestListWatchOf(t *testing.T) {
	s := newServer(t)
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	dynamicClient, err := dynamic.NewForConfig(s.config())
	if err != nil {
		t.Fatal(err)
	}
	metadataClient, err := metadata.NewForConfig(s.config())
	if err != nil {
		t.Fatal(err)
	}
	inX := cache.WithLabelSelector(labels.SelectorFromSet(labels.Set{"app": "x"}))
	for name, c := range map[string]struct {
		lw   *cache.ListWatch
		list runtime.Object
	}{
		"typed":    {cache.ListWatchOf(s.clientset(t).CoreV1().Pods("ns"), inX), &corev1.PodList{}},
		"dynamic":  {cache.ListWatchOf(dynamicClient.Resource(gvr).Namespace("ns"), inX), &unstructured.UnstructuredList{}},
		"metadata": {cache.ListWatchOf(metadataClient.Resource(gvr).Namespace("ns"), inX), &metav1.PartialObjectMetadataList{}},
	} {
		t.Run(name, func(t *testing.T) {
			list, event := listAndWatch(t, c.lw)
			if got, want := reflect.TypeOf(list), reflect.TypeOf(c.list); got != want {
				t.Errorf("listed %s, want %s", got, want)
			}
			if rv := event.Object.(metav1.Object).GetResourceVersion(); rv != "6" {
				t.Errorf("watched %v", event)
			}
			want := []string{
				"/api/v1/namespaces/ns/pods?labelSelector=app%3Dx&limit=500&resourceVersion=0",
				"/api/v1/namespaces/ns/pods?allowWatchBookmarks=true&labelSelector=app%3Dx&resourceVersion=5&watch=true",
			}
			if got := s.take(); !slices.Equal(got, want) {
				t.Errorf("requests\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			_, deployments := cache.NewInformer(c.lw, &appsv1.Deployment{}, 0, cache.ResourceEventHandlerFuncs[*appsv1.Deployment]{})
			if err := deployments.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "not *v1.Deployment") {
				t.Errorf("Run of an informer of another type: %v", err)
			}
		})
	}
}

// TestListWatchReturnsServerErrors checks that errors of the server are returned unchanged.
func TestListWatchReturnsServerErrors(t *testing.T) {
	s := newServer(t)
	s.deny = true
	client := s.clientset(t)
	for name, lw := range map[string]cache.ListerWatcher{
		"from a REST client": cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "", nil),
		"of a typed client":  cache.ListWatchOf(client.CoreV1().Pods("")),
	} {
		list, err := lw.List(t.Context(), metav1.ListOptions{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: List: %v, %v", name, list, err)
		}
		if _, err := lw.Watch(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("%s: Watch: %v", name, err)
		}
	}
	var none cache.ListWatch
	if _, err := none.List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("List without a ListFunc returned no error")
	}
	if _, err := none.Watch(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("Watch without a WatchFunc returned no error")
	}
}

// TestWithFieldSelector checks the field selector of the requests.
func TestWithFieldSelector(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		if got := r.Requests()[0].Options.FieldSelector; got != "metadata.name=b" {
			t.Errorf("field selector %q", got)
		}
	}, func(r *cachetest.Harness) {
		r.Source = cache.ListWatchOf(podClient{ListerWatcher: r.ListerWatcher}, cache.WithFieldSelector(fields.OneTermEqualSelector("metadata.name", "b")))
	})
}

// clientGoListerWatcher is a ListerWatcher of client-go, whose methods have no context.
type clientGoListerWatcher struct {
	*fake.ListerWatcher[*corev1.Pod]
}

func (lw clientGoListerWatcher) List(options metav1.ListOptions) (runtime.Object, error) {
	return lw.ListerWatcher.List(context.Background(), options)
}

func (lw clientGoListerWatcher) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return lw.ListerWatcher.Watch(context.Background(), options)
}

// TestListWatchFromClientGo runs an informer of client-go's ListerWatcher.
func TestListWatchFromClientGo(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.ExpectSynced()
		r.Delete("ns/b")
		r.ExpectEvents("D b@5")
	}, func(r *cachetest.Harness) {
		r.Source = cache.ListWatchFromClientGo(clientGoListerWatcher{r.ListerWatcher})
	})
}
