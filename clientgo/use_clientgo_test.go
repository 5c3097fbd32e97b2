// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	clientfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// fakeClient is what the fakes of client-go have in common.
type fakeClient interface {
	Tracker() clienttesting.ObjectTracker
	PrependReactor(verb, resource string, reaction clienttesting.ReactionFunc)
}

// madeInformer is an informer of Pods as a program has it.
type madeInformer struct {
	client   fakeClient
	object   func(*corev1.Pod) runtime.Object // the Pod as the client has it
	factory  any                              // nil if there is none
	informer clientcache.SharedIndexInformer
	lister   clientcache.GenericLister

	start    func(stop <-chan struct{})
	synced   func(stop <-chan struct{}) bool
	shutdown func()
}

const resyncPeriod = 10 * time.Minute

// informersOfPods make an informer in each way in which a program does.
var informersOfPods = map[string]func(clientgo.Constructors) *madeInformer{
	"typed":    typedInformer,
	"dynamic":  dynamicInformer,
	"metadata": metadataInformer,
	"single":   singleInformer,
}

func typedInformer(constructors clientgo.Constructors) *madeInformer {
	client := clientfake.NewClientset()
	factory := constructors.NewSharedInformerFactory(client, resyncPeriod)
	pods := factory.Core().V1().Pods().Informer()
	generic, err := factory.ForResource(podResource)
	if err != nil || generic.Informer().GetStore() != pods.GetStore() {
		panic(fmt.Sprintf("ForResource returned another informer, or %v", err))
	}
	return &madeInformer{
		client, func(pod *corev1.Pod) runtime.Object { return pod }, factory, pods, generic.Lister(), factory.Start,
		func(stop <-chan struct{}) bool { return factory.WaitForCacheSync(stop)[reflect.TypeFor[*corev1.Pod]()] }, factory.Shutdown,
	}
}

func dynamicInformer(constructors clientgo.Constructors) *madeInformer {
	client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
	factory := constructors.NewDynamicSharedInformerFactory(client, resyncPeriod)
	generic := factory.ForResource(podResource)
	object := func(pod *corev1.Pod) runtime.Object {
		pod.TypeMeta = cachetest.TypeMeta("Pod")
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
		if err != nil {
			panic(err)
		}
		return &unstructured.Unstructured{Object: content}
	}
	return &madeInformer{
		client, object, factory, generic.Informer(), generic.Lister(), factory.Start,
		func(stop <-chan struct{}) bool { return factory.WaitForCacheSync(stop)[podResource] }, factory.Shutdown,
	}
}

func metadataInformer(constructors clientgo.Constructors) *madeInformer {
	metadataScheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(metadataScheme); err != nil {
		panic(err)
	}
	client := metadatafake.NewSimpleMetadataClient(metadataScheme)
	factory := constructors.Metadata().NewSharedInformerFactory(client, resyncPeriod)
	generic := factory.ForResource(podResource)
	object := func(pod *corev1.Pod) runtime.Object {
		return &metav1.PartialObjectMetadata{TypeMeta: cachetest.TypeMeta("Pod"), ObjectMeta: pod.ObjectMeta}
	}
	return &madeInformer{
		client, object, factory, generic.Informer(), generic.Lister(), factory.Start,
		func(stop <-chan struct{}) bool { return factory.WaitForCacheSync(stop)[podResource] }, factory.Shutdown,
	}
}

func singleInformer(constructors clientgo.Constructors) *madeInformer {
	client := clientfake.NewClientset()
	informer := constructors.NewSharedIndexInformer(podsOf(client), &corev1.Pod{}, resyncPeriod, clientcache.Indexers{
		clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc,
	})
	var running sync.WaitGroup
	return &madeInformer{
		client, func(pod *corev1.Pod) runtime.Object { return pod }, nil, informer,
		clientcache.NewGenericLister(informer.GetIndexer(), podResource.GroupResource()),
		func(stop <-chan struct{}) {
			running.Go(func() { informer.RunWithContext(wait.ContextForChannel(stop)) })
		},
		func(stop <-chan struct{}) bool { return clientcache.WaitForCacheSync(stop, informer.HasSynced) }, running.Wait,
	}
}

// isClientGos reports whether the result of a constructor is client-go's, and not this module's. Of
// an informer, the store says so, as typed wrappers of client-go may have informers of both.
func isClientGos(made any) bool {
	switch informer := made.(type) {
	case informers.GenericInformer:
		made = informer.Informer().GetStore()
	case clientcache.SharedInformer:
		made = informer.GetStore()
	}
	goType := reflect.TypeOf(made)
	for goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	return strings.HasPrefix(goType.PkgPath(), "k8s.io/client-go/")
}

// TestUseClientGoIsTheWayBack runs one program on the informers of both, in one process.
func TestUseClientGoIsTheWayBack(t *testing.T) {
	for name, newInformer := range informersOfPods {
		for _, use := range []bool{false, true} {
			cachetest.RunInBubble(t, fmt.Sprintf("%s/UseClientGo=%v", name, use), func(t *testing.T) {
				made := newInformer(clientgo.With(clientgo.Options{UseClientGo: use, Packed: true}))
				if isClientGos(made.informer) != use || made.factory != nil && isClientGos(made.factory) != use {
					t.Errorf("the factory is a %T, and its informer a %T", made.factory, made.informer)
				}
				made.expectBehaviour(t)
			})
		}
	}
}

// expectBehaviour starts the informer, whose first list fails, changes objects, and stops it.
func (m *madeInformer) expectBehaviour(t *testing.T) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	failed := false
	m.client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		first := !failed
		failed = true
		return first, nil, errRefused
	})
	var watchErrors errorRecorder
	watchErrors.handle(t)(m.informer)
	withTransform(t, annotate)(m.informer)
	must(m.informer.AddIndexers(clientcache.Indexers{"x": byLabelX}))
	var events recorder[string]
	withHandler(t, changesOf(&events))(m.informer)
	must(m.client.Tracker().Create(podResource, m.pod("a", "1"), "ns"))
	stop := make(chan struct{})
	m.start(stop)
	if !m.synced(stop) || !m.informer.HasSynced() {
		t.Error("the informer has not synced")
	}
	if errs := watchErrors.take(); len(errs) != 1 {
		t.Errorf("the watch error handler received %v", errs)
	}
	expect := func(want ...string) {
		t.Helper()
		synctest.Wait()
		if got := events.take(); !slices.Equal(got, want) {
			t.Errorf("the handler received %q, want %q", got, want)
		}
	}
	expect("add a x=1 seen, initial")
	must(m.client.Tracker().Create(podResource, m.pod("b", "1"), "ns"))
	must(m.client.Tracker().Update(podResource, m.pod("b", "2"), "ns"))
	expect("add b x=1 seen", "update b x=1 to x=2 seen")
	must(m.client.Tracker().Delete(podResource, "ns", "a"))
	expect("delete a x=1 seen")
	m.expectStored(t)
	cachetest.Advance(resyncPeriod + time.Minute)
	expect("update b x=2 to x=2 seen")
	close(stop)
	m.shutdown()
	synctest.Wait()
	if !m.informer.IsStopped() {
		t.Error("the informer has not stopped")
	}
	must(m.client.Tracker().Create(podResource, m.pod("c", "1"), "ns"))
	expect()
}

// pod returns the Pod ns/name with a label x, as the client has it.
func (m *madeInformer) pod(name, x string) runtime.Object {
	return m.object(cachetest.Pod(name, cachetest.WithLabel("x", x)))
}

// expectStored reads the only object, b with x=2.
func (m *madeInformer) expectStored(t *testing.T) {
	t.Helper()
	if keys := m.informer.GetStore().ListKeys(); !slices.Equal(keys, []string{"ns/b"}) {
		t.Errorf("the store has %q", keys)
	}
	for value, want := range map[string]int{"1": 0, "2": 1} {
		if found, err := m.informer.GetIndexer().ByIndex("x", value); err != nil || len(found) != want {
			t.Errorf("the index has %v for %s, %v", found, value, err)
		}
	}
	if found, err := m.informer.GetIndexer().ByIndex(clientcache.NamespaceIndex, "ns"); err != nil || len(found) != 1 {
		t.Errorf("the index by namespace has %v, %v", found, err)
	}
	if list, err := m.lister.ByNamespace("ns").List(labels.SelectorFromSet(labels.Set{"x": "2"})); err != nil || len(list) != 1 {
		t.Errorf("the lister returned %v, %v", list, err)
	}
	if obj, err := m.lister.Get("ns/b"); err != nil || describeX(obj) != "x=2 seen" {
		t.Errorf("the lister returned %v, %v", obj, err)
	}
	if _, err := m.lister.ByNamespace("ns").Get("a"); err == nil {
		t.Error("the lister has a deleted object")
	}
}

// annotate is a transform.
func annotate(obj any) (any, error) {
	if accessor, err := meta.Accessor(obj); err == nil {
		accessor.SetAnnotations(map[string]string{"seen": "yes"})
	}
	return obj, nil
}

func byLabelX(obj any) ([]string, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	return []string{accessor.GetLabels()["x"]}, nil
}

// describeX returns the label x of an object, and whether annotate has seen it.
func describeX(obj any) string {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return err.Error()
	}
	text := "x=" + accessor.GetLabels()["x"]
	if accessor.GetAnnotations()["seen"] != "" {
		text += " seen"
	}
	return text
}

// changesOf returns a handler that records what it receives.
func changesOf(events *recorder[string]) clientcache.ResourceEventHandler {
	name := func(obj any) string { return obj.(metav1.Object).GetName() }
	return clientcache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			text := "add " + name(obj) + " " + describeX(obj)
			if isInInitialList {
				text += ", initial"
			}
			events.record(text)
		},
		UpdateFunc: func(oldObj, obj any) {
			events.record("update " + name(obj) + " x=" + oldObj.(metav1.Object).GetLabels()["x"] + " to " + describeX(obj))
		},
		DeleteFunc: func(obj any) { events.record("delete " + name(obj) + " " + describeX(obj)) },
	}
}
