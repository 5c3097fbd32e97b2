// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
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
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// serveUpdatedPod serves a Pod that was created at version 2 and updated at version 3. urls returns
// the URLs of the requests since its last call.
func serveUpdatedPod(t *testing.T) (server *fake.APIServer, urls func() []string) {
	t.Helper()
	server = cachetest.StartAPIServer(t, fake.APIServerOptions{})
	pod := cachetest.Pod("a", cachetest.WithLabel("app", "x"))
	pod.Spec.NodeName = "n1"
	cachetest.Must(t, server.Create, pod)
	pod.Annotations = map[string]string{"updated": "yes"}
	cachetest.Must(t, server.Update, pod)
	var mu sync.Mutex // guards requested
	var requested []string
	server.InjectFault(-1, func(r fake.APIRequest) bool {
		mu.Lock()
		defer mu.Unlock()
		requested = append(requested, r.HTTP.URL.RequestURI())
		return false
	}, fake.Fault{})
	return server, func() []string {
		mu.Lock()
		defer mu.Unlock()
		urls := requested
		requested = nil
		return urls
	}
}

// listAndWatch returns the list and the first event of a watch.
func listAndWatch(t *testing.T, lw cache.ListerWatcher) (list runtime.Object, event watch.Event) {
	t.Helper()
	list, err := lw.List(t.Context(), metav1.ListOptions{ResourceVersion: "0", Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	w, err := lw.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "2", AllowWatchBookmarks: true})
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
	server, urls := serveUpdatedPod(t)
	pods := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().RESTClient()
	app := cache.WithLabelSelector(labels.SelectorFromSet(labels.Set{"app": "x"}))
	for name, c := range map[string]struct {
		lw   *cache.ListWatch
		want []string
	}{
		"all namespaces": {cache.NewListWatchFromClient(pods, "pods", metav1.NamespaceAll, nil), []string{
			"/api/v1/pods?limit=500&resourceVersion=0",
			"/api/v1/pods?allowWatchBookmarks=true&resourceVersion=2&watch=true"}},
		"a namespace and fields": {cache.NewListWatchFromClient(pods, "pods", "ns", fields.OneTermEqualSelector("spec.nodeName", "n1")), []string{
			"/api/v1/namespaces/ns/pods?fieldSelector=spec.nodeName%3Dn1&limit=500&resourceVersion=0",
			"/api/v1/namespaces/ns/pods?allowWatchBookmarks=true&fieldSelector=spec.nodeName%3Dn1&resourceVersion=2&watch=true"}},
		"every field": {cache.NewListWatchFromClient(pods, "pods", "", fields.Everything()), []string{
			"/api/v1/pods?limit=500&resourceVersion=0",
			"/api/v1/pods?allowWatchBookmarks=true&resourceVersion=2&watch=true"}},
		"labels and a hook": {cache.NewListWatchFromClient(pods, "pods", "", nil, app, func(o *metav1.ListOptions) { o.Limit = 7; o.AllowWatchBookmarks = false }), []string{
			"/api/v1/pods?labelSelector=app%3Dx&limit=7&resourceVersion=0",
			"/api/v1/pods?labelSelector=app%3Dx&limit=7&resourceVersion=2&watch=true"}},
	} {
		t.Run(name, func(t *testing.T) {
			list, event := listAndWatch(t, c.lw)
			if got := urls(); !slices.Equal(got, c.want) {
				t.Errorf("requests\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			if pods, ok := list.(*corev1.PodList); !ok || len(pods.Items) != 1 || pods.ResourceVersion != "3" {
				t.Errorf("listed %v", list)
			}
			if p, ok := event.Object.(*corev1.Pod); !ok || event.Type != watch.Modified || p.ResourceVersion != "3" {
				t.Errorf("watched %v", event)
			}
		})
	}
}

// TestListWatchOf checks the requests of typed, dynamic and metadata clients, and that an informer
// of another type returns an error.
func TestListWatchOf(t *testing.T) {
	server, urls := serveUpdatedPod(t)
	config := server.Config()
	inX := cache.WithLabelSelector(labels.SelectorFromSet(labels.Set{"app": "x"}))
	for name, c := range map[string]struct {
		lw   *cache.ListWatch
		list runtime.Object
	}{
		"typed":    {cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Pods("ns"), inX), &corev1.PodList{}},
		"dynamic":  {cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(podGVR).Namespace("ns"), inX), &unstructured.UnstructuredList{}},
		"metadata": {cache.ListWatchOf(metadata.NewForConfigOrDie(config).Resource(podGVR).Namespace("ns"), inX), &metav1.PartialObjectMetadataList{}},
	} {
		t.Run(name, func(t *testing.T) {
			list, event := listAndWatch(t, c.lw)
			if got, want := reflect.TypeOf(list), reflect.TypeOf(c.list); got != want {
				t.Errorf("listed %s, want %s", got, want)
			}
			if rv := event.Object.(metav1.Object).GetResourceVersion(); rv != "3" {
				t.Errorf("watched %v", event)
			}
			want := []string{
				"/api/v1/namespaces/ns/pods?labelSelector=app%3Dx&limit=500&resourceVersion=0",
				"/api/v1/namespaces/ns/pods?allowWatchBookmarks=true&labelSelector=app%3Dx&resourceVersion=2&watch=true",
			}
			if got := urls(); !slices.Equal(got, want) {
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
	server := cachetest.StartAPIServer(t, fake.APIServerOptions{})
	server.InjectFault(-1, func(fake.APIRequest) bool { return true }, fake.Fault{Err: fake.Forbidden()})
	client := kubernetes.NewForConfigOrDie(server.Config())
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
