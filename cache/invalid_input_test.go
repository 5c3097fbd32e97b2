// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	clientset "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// runner is a controller or an informer.
type runner interface {
	Run(ctx context.Context) error
	WaitForDelivery(ctx context.Context) error
	Status() cache.Status
	HasDelivered() bool
	LastSyncResourceVersion() string
}

// handlerFunc is a handler that can be nil without being a pointer.
type handlerFunc func(cache.Event[*corev1.Pod])

func (f handlerFunc) OnEvent(event cache.Event[*corev1.Pod]) { f(event) }

// TestInvalidInformerReturnsError checks that Run and WaitForDelivery return an error at once that
// names the invalid argument, and that Status has it too.
func TestInvalidInformerReturnsError(t *testing.T) {
	lw := fake.NewListerWatcher(&corev1.Pod{})
	nodes := cache.ListWatchOf(clientset.NewClientset().CoreV1().Nodes())
	list, watching := lw.List, lw.Watch
	pods := func(lw cache.ListerWatcher, period time.Duration, handler cache.EventHandler[*corev1.Pod]) *cache.Controller {
		_, controller := cache.NewInformer(lw, &corev1.Pod{}, period, handler)
		return controller
	}
	_, ofInterface := cache.NewInformer[cache.Object](lw, &corev1.Pod{}, 0, cache.ResourceEventHandlerFuncs[cache.Object]{})
	_, badBackoff := cachetest.NewInformer(lw, &corev1.Pod{}, 0, podFuncs{}, cache.ReflectorOptions{Backoff: wait.Backoff{Factor: 2, Steps: 3}})
	for name, c := range map[string]struct {
		controller runner
		want       []string
	}{
		"nil lister":           {pods(nil, 0, podFuncs{}), []string{"informer of Pod: the ListerWatcher is nil"}},
		"nil pointer lister":   {pods((*cache.ListWatch)(nil), 0, podFuncs{}), []string{"the ListerWatcher is nil"}},
		"no ListFunc":          {pods(&cache.ListWatch{WatchFunc: watching}, 0, podFuncs{}), []string{"the ListWatch has no ListFunc"}},
		"no WatchFunc":         {pods(&cache.ListWatch{ListFunc: list}, 0, podFuncs{}), []string{"the ListWatch has no WatchFunc"}},
		"nil client":           {pods(cache.ListWatchOf[*corev1.PodList](nil), 0, podFuncs{}), []string{"nil client"}},
		"nil REST client":      {pods(cache.NewListWatchFromClient(nil, "pods", "", nil), 0, podFuncs{}), []string{"nil client"}},
		"nil REST pointer":     {pods(cache.NewListWatchFromClient((*rest.RESTClient)(nil), "pods", "", nil), 0, podFuncs{}), []string{"nil client"}},
		"another type":         {pods(nodes, 0, podFuncs{}), []string{"the ListWatch lists *v1.Node, not *v1.Pod"}},
		"negative resync":      {pods(lw, -time.Second, podFuncs{}), []string{"ResyncPeriod -1s is negative"}},
		"nil handler":          {pods(lw, 0, nil), []string{"informer of Pod: the handler is nil"}},
		"nil pointer handler":  {pods(lw, 0, (*podFuncs)(nil)), []string{"the handler is nil"}},
		"nil function handler": {pods(lw, 0, handlerFunc(nil)), []string{"the handler is nil"}},
		"nil FilterFunc":       {pods(lw, 0, cache.FilteringResourceEventHandler[*corev1.Pod]{Handler: podFuncs{}}), []string{"has no FilterFunc"}},
		"nil filtered handler": {pods(lw, 0, &cache.FilteringResourceEventHandler[*corev1.Pod]{FilterFunc: func(*corev1.Pod) bool { return true }}),
			[]string{"the handler is nil"}},
		"a filter in a filter": {pods(lw, 0, cache.FilteringResourceEventHandler[*corev1.Pod]{
			FilterFunc: func(*corev1.Pod) bool { return true }, Handler: cache.FilteringResourceEventHandler[*corev1.Pod]{Handler: podFuncs{}},
		}), []string{"has no FilterFunc"}},
		"an interface as T": {ofInterface, []string{"type argument cache.Object is an interface", "*v1.Pod"}},
		"no delay":          {badBackoff, []string{"Backoff.Duration 0s is not positive, with Steps 3"}},
		"several errors":    {pods(nil, -1, nil), []string{"the ListerWatcher is nil", "negative", "the handler is nil"}},
	} {
		t.Run(name, func(t *testing.T) {
			run, wait := c.controller.Run(t.Context()), c.controller.WaitForDelivery(t.Context())
			status := c.controller.Status()
			for _, err := range []error{run, wait, status.Err} {
				for _, want := range c.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("error %q does not contain %q", err, want)
					}
				}
			}
			if status.Phase != cache.PhaseInvalid || c.controller.HasDelivered() || c.controller.LastSyncResourceVersion() != "" {
				t.Errorf("status %+v", status)
			}
		})
	}
	if n := len(lw.Requests()); n > 0 {
		t.Errorf("%d requests, want none", n)
	}
}

// TestInvalidOptionsAreReportedInOrder checks that the error lists invalid options in one order, as
// it is logged and compared as a text.
func TestInvalidOptionsAreReportedInOrder(t *testing.T) {
	options := cache.InformerOptions[*corev1.Pod]{Backoff: wait.Backoff{Steps: 3}, ResyncPeriod: -1}
	err := cache.NewSharedInformer(nil, &corev1.Pod{}, options).Run(t.Context())
	at := -1
	for _, text := range []string{"the ListerWatcher is nil", "Backoff.Duration", "ResyncPeriod"} {
		next := strings.Index(err.Error(), text)
		if next <= at {
			t.Errorf("%q is missing or out of order in %q", text, err)
		}
		at = next
	}
}

// TestIndexWithoutFunctionIsRefused checks that the error names the index: of the informer, and of
// every write to a store.
func TestIndexWithoutFunctionIsRefused(t *testing.T) {
	lw := fake.NewListerWatcher(&corev1.Pod{})
	for name, index := range map[string]cache.Index[*corev1.Pod]{
		"zero value":             {},
		"ByObject without one":   cache.ByObject[*corev1.Pod](nil),
		"ByMetadata without one": cache.ByMetadata[*corev1.Pod](nil),
	} {
		t.Run(name, func(t *testing.T) {
			indexers := cache.Indexers[*corev1.Pod]{"node": index, "good": cache.ByObject(byNode)}
			pods := cache.NewSharedInformer(lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Indexers: indexers})
			_, ofFactory := cache.InformerFor(cache.NewFactory(cache.FactoryOptions{}), cache.ListWatchOf(podClient{ListerWatcher: lw}), &corev1.Pod{},
				cache.InformerOptions[*corev1.Pod]{Indexers: indexers})
			store, pod := cache.NewStore(nil, indexers), cachetest.Pod("a")
			for what, err := range map[string]error{
				"Run": pods.Run(t.Context()), "WaitForSync": pods.WaitForSync(t.Context()), "Status": pods.Status().Err, "InformerFor": ofFactory,
				"Add": store.Add(pod), "Update": store.Update(pod), "Delete": store.Delete(pod), "Replace": store.Replace([]*corev1.Pod{pod}, "1"),
				"a reflector": cache.NewReflector(lw, pod, store, cache.ReflectorOptions{}).Run(t.Context()),
			} {
				if !cachetest.ErrorContains(`index "node" has no function`)(err) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	if n := len(lw.Requests()); n > 0 {
		t.Errorf("%d requests, want none", n)
	}
}

// TestInvalidReflectorReturnsError checks the errors of Run and ListAndWatch.
func TestInvalidReflectorReturnsError(t *testing.T) {
	lw := fake.NewListerWatcher(&corev1.Pod{})
	store := cache.NewStore[*corev1.Pod](nil, nil)
	for name, c := range map[string]struct {
		reflector *cache.Reflector[*corev1.Pod]
		want      string
	}{
		"nil lister":        {cache.NewReflector(nil, &corev1.Pod{}, store, cache.ReflectorOptions{}), "reflector of Pod: the ListerWatcher is nil"},
		"nil store":         {cache.NewReflector(lw, &corev1.Pod{}, nil, cache.ReflectorOptions{}), "the store is nil"},
		"nil pointer store": {cache.NewReflector(lw, &corev1.Pod{}, (*cache.UndeltaStore[*corev1.Pod])(nil), cache.ReflectorOptions{}), "the store is nil"},
		"no push function":  {cache.NewReflector(lw, &corev1.Pod{}, cache.NewUndeltaStore[*corev1.Pod](nil, nil), cache.ReflectorOptions{}), "the UndeltaStore has no PushFunc"},
		"no embedded store": {cache.NewReflector(lw, &corev1.Pod{}, &cache.UndeltaStore[*corev1.Pod]{PushFunc: func([]*corev1.Pod) {}}, cache.ReflectorOptions{}), "the UndeltaStore has no Store"},
		"with a name":       {cache.NewReflector(nil, &corev1.Pod{}, store, cache.ReflectorOptions{Name: "my pods"}), "reflector of my pods: "},
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range []error{c.reflector.Run(t.Context()), c.reflector.ListAndWatch(t.Context())} {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %q does not contain %q", err, c.want)
				}
			}
		})
	}
}

// TestStoreRejectsInvalidObjects checks that the error names the object and the field, and that the
// store keeps its content.
func TestStoreRejectsInvalidObjects(t *testing.T) {
	noKey := errors.New("label missing")
	keyed := cache.NewStore(func(p *corev1.Pod) (string, error) {
		if p.Labels["key"] == "" {
			return "", noKey
		}
		return p.Labels["key"], nil
	}, nil)
	panics := cache.NewStore(func(p *corev1.Pod) (string, error) { return p.Spec.Containers[0].Name, nil }, nil)
	for name, c := range map[string]struct {
		store *cache.Store[*corev1.Pod]
		pod   *corev1.Pod
		want  string
		is    error
	}{
		"nil":               {cache.NewStore[*corev1.Pod](nil, nil), nil, "object is nil", nil},
		"nil, with KeyFunc": {keyed, nil, "object is nil", nil},
		"no name":           {cache.NewStore[*corev1.Pod](nil, nil), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}, `*v1.Pod in namespace "ns": metadata.name is empty`, nil},
		"no key":            {keyed, cachetest.Pod("a"), `no key for *v1.Pod "ns/a": label missing`, noKey},
		"panic of KeyFunc":  {panics, cachetest.Pod("a"), `no key for *v1.Pod "ns/a": panic: runtime error: index out of range`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			good := cachetest.Pod("good", cachetest.WithLabel("key", "good"))
			good.Spec.Containers = []corev1.Container{{Name: "good"}}
			if err := c.store.Add(good); err != nil {
				t.Fatal(err)
			}
			_, _, get := c.store.Get(c.pod)
			for verb, err := range map[string]error{
				"Add": c.store.Add(c.pod), "Update": c.store.Update(c.pod), "Delete": c.store.Delete(c.pod),
				"Replace": c.store.Replace([]*corev1.Pod{good.DeepCopy(), c.pod}, "7"),
			} {
				if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
					t.Errorf("%s: error %v does not contain %q", verb, err, c.want)
				}
			}
			if get == nil {
				t.Error("Get returned no error")
			}
			if list := c.store.List(); len(list) != 1 || list[0] != good || c.store.Snapshot().ResourceVersion() != "" {
				t.Errorf("after the errors the store holds %v", cachetest.Describe(list))
			}
		})
	}
	if err := keyed.Replace([]*corev1.Pod{cachetest.Pod("a", cachetest.WithLabel("key", "x")), cachetest.Pod("b")}, ""); err == nil || !strings.Contains(err.Error(), "item 1") {
		t.Errorf("Replace does not name the item: %v", err)
	}
}

// TestUnstructuredOfOtherKindIsRejected sends an unstructured object of another kind than the
// example's in a list and in a watch. It is not stored. Listed objects without a kind have the
// list's.
func TestUnstructuredOfOtherKindIsRejected(t *testing.T) {
	object := func(kind, name, rv string) unstructured.Unstructured {
		u := unstructured.Unstructured{Object: map[string]any{}}
		u.SetName(name)
		u.SetResourceVersion(rv)
		if kind != "" {
			u.SetAPIVersion("example.com/v1")
			u.SetKind(kind)
		}
		return u
	}
	example := object("Widget", "", "")
	listed := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "WidgetList"}}
	listed.SetResourceVersion("5")
	errs := make(chan error, 10)
	options := cache.ReflectorOptions{ErrorHandler: func(_ context.Context, err error) { errs <- err }}
	run := func(t *testing.T) (*cache.Store[*unstructured.Unstructured], *watch.FakeWatcher) {
		t.Helper()
		list, events := listed.DeepCopy(), watch.NewFake()
		lw := &cache.ListWatch{
			ListFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list.DeepCopy(), nil },
			WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return events, nil },
		}
		store := cache.NewStore[*unstructured.Unstructured](nil, nil)
		start(t, cache.NewReflector(lw, &example, store, options))
		return store, events
	}
	t.Run("list", func(t *testing.T) {
		listed.Items = []unstructured.Unstructured{object("", "a", "1"), object("Gadget", "b", "2")}
		store, events := run(t)
		if err := <-errs; !strings.Contains(err.Error(), `item 1 of the list: another type: expected *unstructured.Unstructured of example.com/v1, Kind=Widget, got example.com/v1, Kind=Gadget "b"`) {
			t.Errorf("error %v", err)
		}
		good := object("Widget", "c", "6")
		events.Add(&good) // once the list is stored
		a, _ := store.GetByKey("a")
		if b, _ := store.GetByKey("b"); a == nil || b != nil {
			t.Errorf("stored %v, want a and not b", store.ListKeys())
		}
	})
	t.Run("watch", func(t *testing.T) {
		listed.Items = []unstructured.Unstructured{object("", "a", "1")}
		store, events := run(t)
		other, good := object("Gadget", "b", "7"), object("Widget", "c", "6")
		events.Add(&good)
		events.Add(&other)
		if err := <-errs; !strings.Contains(err.Error(), `ADDED event: another type: expected *unstructured.Unstructured of example.com/v1, Kind=Widget, got example.com/v1, Kind=Gadget "b"`) {
			t.Errorf("error %v", err)
		}
		a, _ := store.GetByKey("a")
		if a == nil || a.GetKind() != "Widget" || store.Len() != 2 {
			t.Errorf("stored %v, a is %v", store.ListKeys(), a)
		}
	})
}
