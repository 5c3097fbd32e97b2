// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	clientfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	metadatafake "k8s.io/client-go/metadata/fake"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// isAdapter reports whether an informer, perhaps inside a typed wrapper, is of package clientgo.
func isAdapter(informer clientcache.SharedIndexInformer) bool {
	handle, err := informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{})
	return err == nil && reflect.TypeOf(handle).Elem().PkgPath() == reflect.TypeFor[clientgo.Options]().PkgPath()
}

// newGroups are the groups that client-go v0.36 does not have. Their accessors return informers of
// client-go.
var newGroups = []string{"Lifecycle"}

// TestFactoryAccessorsReturnAdapters calls every accessor of every group and version of the
// factory.
func TestFactoryAccessorsReturnAdapters(t *testing.T) {
	factory := plain.NewSharedInformerFactory(clientfake.NewClientset(), 0)
	all := reflect.TypeFor[informers.SharedInformerFactory]()
	checked := 0
	for group := range all.Methods() {
		if group.Type.NumIn() != 0 || group.Type.NumOut() != 1 || !strings.HasPrefix(group.Type.Out(0).PkgPath(), "k8s.io/client-go/informers/") {
			continue
		}
		want := !slices.Contains(newGroups, group.Name)
		versions := reflect.ValueOf(factory).MethodByName(group.Name).Call(nil)[0]
		for v := range versions.NumMethod() {
			types := versions.Method(v).Call(nil)[0]
			for n := range types.NumMethod() {
				if types.Type().Method(n).Type.NumIn() != 0 {
					continue
				}
				accessor, ok := types.Method(n).Call(nil)[0].Interface().(interface {
					Informer() clientcache.SharedIndexInformer
				})
				if !ok {
					continue
				}
				checked++
				if got := isAdapter(accessor.Informer()); got != want {
					t.Errorf("%s().%s().%s(): adapter is %v, want %v", group.Name, versions.Type().Method(v).Name, types.Type().Method(n).Name, got, want)
				}
			}
		}
	}
	if checked < 90 {
		t.Errorf("found only %d accessors", checked)
	}
}

// TestFactoryForResource calls ForResource with every resource of the scheme, and checks that the
// accessors return the same informers.
func TestFactoryForResource(t *testing.T) {
	factory := plain.NewSharedInformerFactory(clientfake.NewClientset(), 0)
	found := 0
	for kind := range scheme.Scheme.AllKnownTypes() {
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		generic, err := factory.ForResource(plural)
		if err != nil {
			continue
		}
		found++
		if !isAdapter(generic.Informer()) {
			t.Errorf("the informer of %s is not an adapter", plural)
		}
	}
	if found < 90 {
		t.Errorf("found only %d resources", found)
	}
	pods, err := factory.ForResource(corev1.SchemeGroupVersion.WithResource("pods"))
	if err != nil {
		t.Fatal(err)
	}
	if err := pods.Informer().GetIndexer().Add(cachetest.Pod("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := factory.Core().V1().Pods().Lister().Pods("ns").Get("a"); err != nil {
		t.Errorf("the accessor returns another informer: %v", err)
	}
	if _, err := pods.Lister().ByNamespace("ns").Get("a"); err != nil {
		t.Errorf("the generic lister returned %v", err)
	}
	if _, err := factory.ForResource(schema.GroupVersionResource{Resource: "nothing"}); err == nil {
		t.Error("no error for an unknown resource")
	}
}

// TestFactoryStartAndShutdown checks that informers are started once, sync and can be listed, and
// that none is started after Shutdown.
func TestFactoryStartAndShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		factory := plain.NewSharedInformerFactory(clientfake.NewClientset(cachetest.Pod("a")), 0)
		pods := factory.Core().V1().Pods().Lister()
		factory.Start(stop)
		factory.Start(stop)
		if synced := factory.WaitForCacheSync(stop); len(synced) != 1 || !synced[reflect.TypeFor[*corev1.Pod]()] {
			t.Errorf("synced informers: %v", synced)
		}
		if list, err := pods.List(labels.Everything()); err != nil || len(list) != 1 {
			t.Errorf("the lister returned %v, %v", list, err)
		}
		if list, err := pods.Pods("ns").List(labels.Everything()); err != nil || len(list) != 1 {
			t.Errorf("the lister of a namespace returned %v, %v", list, err)
		}
		close(stop)
		factory.Shutdown()
		nodes := factory.Core().V1().Nodes().Informer()
		factory.Start(make(chan struct{}))
		synctest.Wait()
		if nodes.HasSynced() {
			t.Error("an informer was started after Shutdown")
		}
		factory.Shutdown()
	})
}

// TestFactoryNamesUnsyncedInformers checks that a wait that ends early names the informers that
// have not synced, the context's cause and the last error of the informer.
func TestFactoryNamesUnsyncedInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientfake.NewClientset()
		failLists(client, "pods", errRefused, always)
		factory := plain.NewSharedInformerFactory(client, 0)
		factory.Core().V1().Pods().Informer()
		factory.Core().V1().Nodes().Informer()
		ctx, cancel := context.WithCancelCause(t.Context())
		factory.StartWithContext(ctx)
		synctest.Wait()
		cancel(errGaveUp)
		result := factory.WaitForCacheSyncWithContext(ctx)
		factory.Shutdown()
		if result.Synced[reflect.TypeFor[*corev1.Pod]()] || !result.Synced[reflect.TypeFor[*corev1.Node]()] || !errors.Is(result.Err, errGaveUp) || !errors.Is(result.Err, errRefused) {
			t.Errorf("the result is %v, %v", result.Synced, result.Err)
		}
		if err := result.AsError(); err == nil || !strings.Contains(err.Error(), "v1.Pod") {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestFactoryOptions checks that client-go's options of a factory apply to this package's
// informers.
func TestFactoryOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientfake.NewClientset(cachetest.Pod("a"), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "b"}})
		var tweaked atomic.Int32
		factory := plain.NewSharedInformerFactoryWithOptions(client, 0,
			plain.WithNamespace("other"),
			plain.WithTweakListOptions(func(*metav1.ListOptions) { tweaked.Add(1) }),
			plain.WithTransform(func(obj any) (any, error) {
				obj.(metav1.Object).SetLabels(map[string]string{"seen": "yes"})
				return obj, nil
			}),
			plain.WithCustomResyncConfig(map[metav1.Object]time.Duration{&corev1.Pod{}: time.Hour}),
		)
		informer := factory.Core().V1().Pods().Informer()
		handler := &recordingHandler{}
		withHandler(t, handler)(informer)
		startFactory(t, factory)
		synctest.Wait()
		if tweaked.Load() == 0 {
			t.Error("TweakListOptions was not called")
		}
		if informer.GetIndexer().GetIndexers()[clientcache.NamespaceIndex] == nil {
			t.Error("the informer has no index by namespace")
		}
		list := informer.GetStore().List()
		if len(list) != 1 || list[0].(*corev1.Pod).Name != "b" || list[0].(*corev1.Pod).Labels["seen"] != "yes" {
			t.Errorf("the store has %v", list)
		}
		handler.take()
		<-time.After(time.Hour)
		synctest.Wait()
		if got := handler.take(); len(got) != 1 || got[0] != "U b" {
			t.Errorf("after the resync period the handler received %q", got)
		}
	})
}

// TestInformerForAdoptsClientGoInformer passes a function to InformerFor that returns an informer
// of client-go with a selector and a transform, as kube-scheduler does.
func TestInformerForAdoptsClientGoInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientfake.NewClientset(cachetest.Pod("a"), cachetest.Pod("b", cachetest.WithLabel("keep", "yes")))
		factory := plain.NewSharedInformerFactory(client, 0)
		selected := func(client kubernetes.Interface, resync time.Duration) clientcache.SharedIndexInformer {
			informer := coreinformers.NewFilteredPodInformer(client, metav1.NamespaceAll, resync, clientcache.Indexers{"name": byName},
				func(options *metav1.ListOptions) { options.LabelSelector = "keep=yes" })
			withTransform(t, func(obj any) (any, error) {
				obj.(*corev1.Pod).ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "seen"}}
				return obj, nil
			})(informer)
			return informer
		}
		informer := factory.InformerFor(&corev1.Pod{}, selected)
		if !isAdapter(informer) {
			t.Fatal("the informer was not converted")
		}
		if factory.Core().V1().Pods().Informer().GetIndexer() != informer.GetIndexer() {
			t.Error("the accessor returns another informer")
		}
		factory.WaitForCacheSync(startFactory(t, factory))
		found, err := informer.GetIndexer().ByIndex("name", "b")
		if err != nil || len(found) != 1 || found[0].(*corev1.Pod).ManagedFields[0].Manager != "seen" || len(informer.GetStore().List()) != 1 {
			t.Errorf("the store has %v, %v", informer.GetStore().List(), err)
		}
	})
}

// TestResourceFactories runs a dynamic and a metadata factory.
func TestResourceFactories(t *testing.T) {
	resource := corev1.SchemeGroupVersion.WithResource("pods")
	type resourceFactory interface {
		Start(stopCh <-chan struct{})
		ForResource(schema.GroupVersionResource) informers.GenericInformer
		WaitForCacheSync(stopCh <-chan struct{}) map[schema.GroupVersionResource]bool
		Shutdown()
	}
	metadataScheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(metadataScheme); err != nil {
		t.Fatal(err)
	}
	metadata := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"},
	}
	for name, test := range map[string]struct {
		make    func() resourceFactory
		example runtime.Object
	}{
		"dynamic": {func() resourceFactory {
			return plain.NewDynamicSharedInformerFactory(dynamicfake.NewSimpleDynamicClient(scheme.Scheme, cachetest.Pod("a")), 0)
		}, &unstructured.Unstructured{}},
		"metadata": {func() resourceFactory {
			return plain.Metadata().NewSharedInformerFactory(metadatafake.NewSimpleMetadataClient(metadataScheme, metadata), 0)
		}, &metav1.PartialObjectMetadata{}},
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			factory := test.make()
			generic := factory.ForResource(resource)
			if generic != factory.ForResource(resource) {
				t.Error("ForResource returned two pointers")
			}
			if generic.Informer() != factory.ForResource(resource).Informer() || !isAdapter(generic.Informer()) {
				t.Error("ForResource returned two informers, or not an adapter")
			}
			if synced := factory.WaitForCacheSync(startFactory(t, factory)); !synced[resource] {
				t.Errorf("synced informers: %v", synced)
			}
			obj, err := generic.Lister().ByNamespace("ns").Get("a")
			if err != nil || reflect.TypeOf(obj) != reflect.TypeOf(test.example) {
				t.Errorf("the lister returned %v, %v", obj, err)
			}
		})
	}
}

// TestFactoryLeavesTheOptionsOfItsCaller checks that a factory neither writes to the slice of
// options that it receives, nor reads it after the constructor has returned.
func TestFactoryLeavesTheOptionsOfItsCaller(t *testing.T) {
	client := clientfake.NewClientset(cachetest.Pod("a"))
	options := make([]informers.SharedInformerOption, 1, 2)
	options[0] = plain.WithNamespace("ns")
	other := append(options, plain.WithNamespace("other")) //nolint:gocritic // shares the array of options
	before := reflect.ValueOf(other[1]).Pointer()
	factory := plain.NewSharedInformerFactoryWithOptions(client, 0, options...)
	if reflect.ValueOf(other[1]).Pointer() != before {
		t.Error("the factory has overwritten an option of another slice")
	}
	options[0] = plain.WithTransform(func(any) (any, error) { return nil, errGaveUp })
	generic, err := factory.ForResource(podResource)
	if err != nil {
		t.Fatal(err)
	}
	factory.WaitForCacheSync(startFactory(t, factory))
	if keys := generic.Informer().GetStore().ListKeys(); len(keys) != 1 {
		t.Errorf("the store has %q", keys)
	}
}
