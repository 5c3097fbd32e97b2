// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	clientset "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// factoryHarness is a Factory in a synctest bubble, and the informers it has made.
type factoryHarness struct {
	*cache.Factory
	t       *testing.T
	lw      *fake.ListerWatcher[*corev1.Pod]
	made    map[*cache.SharedInformer[*corev1.Pod]]bool
	stopRun func() error
}

func withFactory(t *testing.T, test func(f *factoryHarness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &factoryHarness{Factory: cache.NewFactory(cache.FactoryOptions{}), t: t, made: make(map[*cache.SharedInformer[*corev1.Pod]]bool), lw: fake.NewListerWatcher(&corev1.Pod{})}
		f.lw.Create(cachetest.Pod("a"))
		test(f)
		if f.stopRun != nil {
			if err := f.stopRun(); err != nil {
				t.Errorf("Run: %v", err)
			}
		}
	})
}

func (f *factoryHarness) start() {
	ctx, cancel := context.WithCancel(f.t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- f.Run(ctx) }()
	synctest.Wait()
	f.stopRun = func() error {
		cancel()
		return <-stopped
	}
}

// pods returns a ListWatch of the Pods of a namespace.
func (f *factoryHarness) pods(namespace string) *cache.ListWatch {
	return cache.ListWatchOf(podClient{f.lw, namespace})
}

// informer returns a reference to the informer of the Pods of a namespace.
func (f *factoryHarness) informer(namespace string) *cache.InformerRef[*corev1.Pod] {
	f.t.Helper()
	ref, err := cache.InformerFor(f.Factory, f.pods(namespace), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: "pods of " + namespace})
	if err != nil {
		f.t.Fatal(err)
	}
	f.made[ref.Informer()] = true
	return ref
}

// TestFactorySharesInformers gets informers of the same Pods before and after Run.
func TestFactorySharesInformers(t *testing.T) {
	withFactory(t, func(f *factoryHarness) {
		early, other := f.informer(""), f.informer("x")
		if early.Informer().Status().Phase != cache.PhaseIdle {
			t.Error("an informer runs before the factory")
		}
		f.start()
		late := f.informer("")
		if early.Informer() != late.Informer() || early.Informer() == other.Informer() || len(f.made) != 2 {
			t.Errorf("%d informers made, want 2", len(f.made))
		}
		if err := f.WaitForSync(f.t.Context()); err != nil || early.Informer().Store().Len() != 1 {
			t.Errorf("WaitForSync: %v", err)
		}
		if len(f.Status()) != 2 {
			t.Errorf("status %+v", f.Status())
		}
	})
}

// TestUnusedInformerStopsAfterIdleTimeout releases the last InformerRef. Another use within the
// IdleTimeout keeps the informer; a later one starts a new informer.
func TestUnusedInformerStopsAfterIdleTimeout(t *testing.T) {
	withFactory(t, func(f *factoryHarness) {
		f.start()
		one, two := f.informer(""), f.informer("")
		first := one.Informer()
		one.Release()
		one.Release()
		cachetest.Advance(time.Hour)
		if first.Status().Phase != cache.PhaseWatching {
			t.Fatal("an informer stopped that is in use")
		}
		two.Release()
		cachetest.Advance(59 * time.Second)
		three := f.informer("")
		cachetest.Advance(time.Hour)
		if three.Informer() != first || first.Status().Phase != cache.PhaseWatching {
			t.Fatal("an informer stopped that is in use again")
		}
		three.Release()
		cachetest.Advance(61 * time.Second)
		if first.Status().Phase != cache.PhaseStopped || len(f.Status()) != 0 {
			t.Error("an informer runs that has been unused for a minute")
		}
		again := f.informer("")
		if err := again.Informer().WaitForSync(f.t.Context()); err != nil || again.Informer() == first || len(f.made) != 2 {
			t.Errorf("the next informer: %v, %d made", err, len(f.made))
		}
		again.Release() // Run returns within the IdleTimeout
	})
}

// TestFactoryAnswersWhileItStops ends Run while a handler blocks. The factory's methods do not wait
// for Run, which returns the handler's error.
func TestFactoryAnswersWhileItStops(t *testing.T) {
	withFactory(t, func(f *factoryHarness) {
		resume := make(chan struct{})
		defer close(resume)
		f.start()
		informer := f.informer("").Informer()
		handle(t, informer, func(cache.Event[*corev1.Pod]) { <-resume })
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- f.stopRun() }()
		synctest.Wait()
		if got := len(f.Status()); got != 1 {
			t.Errorf("%d informers while the factory stops, want 1", got)
		}
		if err := <-stopped; !errors.Is(err, cache.ErrHandlerBlocked) {
			t.Errorf("Run returned %v, want ErrHandlerBlocked", err)
		}
		f.stopRun = nil
	})
}

// TestFactoryReportsCauseOfEachInformer checks the errors of WaitForSync, Run and InformerFor.
func TestFactoryReportsCauseOfEachInformer(t *testing.T) {
	withFactory(t, func(f *factoryHarness) {
		f.informer("").Release() // before Run there is no IdleTimeout
		if len(f.Status()) != 0 {
			t.Error("the released informer is not removed")
		}
		forbidden := apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no"))
		f.lw.InjectListFault(4, fake.Fault{Err: forbidden}) // a probe and a list each
		f.informer("a")
		f.informer("b")
		f.start()
		ctx, cancel := context.WithTimeout(f.t.Context(), time.Second/2)
		defer cancel()
		err := f.WaitForSync(ctx)
		if !apierrors.IsForbidden(err) || !cachetest.ErrorContains("pods of a")(err) || !cachetest.ErrorContains("pods of b")(err) {
			t.Errorf("WaitForSync: %v", err)
		}
		if err := f.Run(f.t.Context()); !errors.Is(err, cache.ErrAlreadyRunning) {
			t.Errorf("second Run: %v", err)
		}
		if err := f.stopRun(); err != nil {
			t.Error(err)
		}
		f.stopRun = nil
		if err := f.Run(f.t.Context()); !errors.Is(err, cache.ErrStopped) {
			t.Errorf("Run after Run: %v", err)
		}
		if _, err := cache.InformerFor(f.Factory, f.pods(""), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{}); !errors.Is(err, cache.ErrStopped) || !cachetest.ErrorContains("v1.Pod")(err) {
			t.Errorf("InformerFor after Run: %v", err)
		}
	})
}

// TestFactoryRefusesInvalidOptions asks for an informer with invalid options, then with valid ones.
func TestFactoryRefusesInvalidOptions(t *testing.T) {
	withFactory(t, func(f *factoryHarness) {
		f.start()
		if _, err := cache.InformerFor(f.Factory, f.pods(""), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{ResyncPeriod: -1}); !cachetest.ErrorContains("ResyncPeriod")(err) {
			t.Errorf("error %v", err)
		}
		if err := f.informer("").Informer().WaitForSync(f.t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestFactoryReplacesAnIdleInformerOfOtherOptions asks for other options after the last user has
// left.
func TestFactoryReplacesAnIdleInformerOfOtherOptions(t *testing.T) {
	withFactory(t, func(f *factoryHarness) {
		f.start()
		idle := f.informer("")
		idle.Release()
		ref, err := cache.InformerFor(f.Factory, f.pods(""), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: "others"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if ref.Informer() == idle.Informer() || idle.Informer().Status().Phase != cache.PhaseStopped || !ref.Informer().HasSynced() {
			t.Errorf("the idle informer is %s", idle.Informer().Status().Phase)
		}
	})
}

// TestFactoryKeepsCollectionsApart asks for informers of different collections of one Go type.
func TestFactoryKeepsCollectionsApart(t *testing.T) {
	factory := cache.NewFactory(cache.FactoryOptions{})
	config := &rest.Config{Host: "http://127.0.0.1:1"}
	client, fakes := metadata.NewForConfigOrDie(config), clientset.NewClientset()
	pods, services := corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithResource("services")
	example := func(kind string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}}
	}
	metadataOf := func(lw *cache.ListWatch, kind string) *cache.SharedInformer[*metav1.PartialObjectMetadata] {
		ref, err := cache.InformerFor(factory, lw, example(kind), cache.InformerOptions[*metav1.PartialObjectMetadata]{})
		if err != nil {
			t.Fatal(err)
		}
		return ref.Informer()
	}
	a := metadataOf(cache.ListWatchOf(client.Resource(pods)).InNamespace(""), "Pod")
	if a == metadataOf(cache.ListWatchOf(client.Resource(services)).InNamespace(""), "Service") {
		t.Error("metadata of Pods and Services share an informer")
	}
	if a != metadataOf(cache.ListWatchOf(client.Resource(pods)).InNamespace(""), "Pod") {
		t.Error("metadata of Pods has two informers")
	}
	podsOf := func(namespace string, modify ...func(*metav1.ListOptions)) *cache.SharedInformer[*corev1.Pod] {
		ref, err := cache.InformerFor(factory, cache.ListWatchOf(fakes.CoreV1().Pods(namespace), modify...), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
		if err != nil {
			t.Fatal(err)
		}
		return ref.Informer()
	}
	if podsOf("a") == podsOf("b") || podsOf("a") == podsOf("a", cache.WithFieldSelector(fields.OneTermEqualSelector("spec.nodeName", "n"))) {
		t.Error("Pods of different namespaces or selectors share an informer")
	}
	for want, lw := range map[string]*cache.ListWatch{
		"InNamespace":          cache.ListWatchOf(client.Resource(pods)),
		"ListWatchOf":          {ListFunc: cache.ListWatchOf(client.Resource(pods)).ListFunc, WatchFunc: cache.ListWatchOf(client.Resource(pods)).WatchFunc},
		"set apiVersion, kind": cache.ListWatchOf(client.Resource(pods)).InNamespace(""),
	} {
		kind := "Pod"
		if strings.Contains(want, "apiVersion") {
			kind, want = "", "apiVersion and kind"
		}
		obj := example(kind)
		if kind == "" {
			obj = nil
		}
		if _, err := cache.InformerFor(factory, lw, obj, cache.InformerOptions[*metav1.PartialObjectMetadata]{}); !cachetest.ErrorContains(want)(err) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestFactoryRejectsDifferentOptions asks for one informer with options that differ.
func TestFactoryRejectsDifferentOptions(t *testing.T) {
	withFactory(t, func(f *factoryHarness) {
		first := cache.InformerOptions[*corev1.Pod]{Name: "pods"}
		ref, err := cache.InformerFor(f.Factory, f.pods(""), &corev1.Pod{}, first)
		if err != nil {
			t.Fatal(err)
		}
		defer ref.Release()
		for option, other := range map[string]cache.InformerOptions[*corev1.Pod]{
			"Name":      {},
			"Packed":    {Name: "pods", Packed: true},
			"Indexers":  {Name: "pods", Indexers: cache.Indexers[*corev1.Pod]{"namespace": cache.ByMetadata[*corev1.Pod](cache.MetaNamespaceIndexFunc)}},
			"Transform": {Name: "pods", Transform: func(pod *corev1.Pod) (*corev1.Pod, error) { return pod, nil }},
			"Filter":    {Name: "pods", Filter: func(*corev1.Pod) bool { return true }},
			"PageSize":  {Name: "pods", PageSize: 10},
		} {
			if _, err := cache.InformerFor(f.Factory, f.pods(""), &corev1.Pod{}, other); !cachetest.ErrorContains(option)(err) {
				t.Errorf("another %s: %v", option, err)
			}
		}
		closures := &cache.ListWatch{ListFunc: f.lw.List, WatchFunc: f.lw.Watch}
		if _, err := cache.InformerFor(f.Factory, closures, &corev1.Pod{}, first); !cachetest.ErrorContains("ListWatchOf")(err) {
			t.Errorf("a ListWatch of unknown selection: %v", err)
		}
	})
}

// TestFactoryErrorNamesTheSelection checks the texts of errors.
func TestFactoryErrorNamesTheSelection(t *testing.T) {
	factory, client := cache.NewFactory(cache.FactoryOptions{}), clientset.NewClientset().CoreV1()
	onNode := cache.WithFieldSelector(fields.OneTermEqualSelector("spec.nodeName", "n"))
	web := cache.WithLabelSelector(labels.SelectorFromSet(labels.Set{"app": "web"}))
	for selection, lw := range map[string]*cache.ListWatch{
		"": cache.ListWatchOf(client.Pods("")),
		` in namespace "a", with label selector "app=web", with field selector "spec.nodeName=n"`: cache.ListWatchOf(client.Pods("a"), onNode, web),
	} {
		ref, err := cache.InformerFor(factory, lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
		if err != nil {
			t.Fatal(err)
		}
		defer ref.Release()
		_, err = cache.InformerFor(factory, lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Packed: true})
		if want := "informer of *v1.Pod" + selection + ": Packed differs from the informer's first use: true, not false"; err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestInNamespaceSeparatesInformers gets informers of clients that do not declare their namespace.
// A Factory has one for each namespace that InNamespace declares.
func TestInNamespaceSeparatesInformers(t *testing.T) {
	withFactory(t, func(f *factoryHarness) {
		informers := make(map[*cache.SharedInformer[*corev1.Pod]]bool)
		for _, namespace := range []string{"a", "b", "a", ""} {
			ref, err := cache.InformerFor(f.Factory, f.pods("").InNamespace(namespace), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
			if err != nil {
				t.Fatal(err)
			}
			defer ref.Release()
			informers[ref.Informer()] = true
		}
		if len(informers) != 3 {
			t.Errorf("%d informers of 3 namespaces", len(informers))
		}
	})
}
