package clientgo_test

import (
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	metadatafake "k8s.io/client-go/metadata/fake"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
)

// isOurs tells whether an informer is one of ours, in whatever wrapper.
func isOurs(informer clientcache.SharedIndexInformer) bool {
	handle, err := informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{})
	return err == nil && reflect.TypeOf(handle).Elem().PkgPath() == "github.com/kinformer/kinformer/clientgo"
}

// newer are the groups that client-go v0.36 does not have, whose informers are client-go's.
var newer = []string{"Lifecycle"}

// Every accessor of every group and version of the factory gives an informer of ours.
func TestFactoryGivesOurInformersOfEveryType(t *testing.T) {
	factory := clientgo.NewSharedInformerFactory(fake.NewClientset(), clientgo.FactoryOptions{})
	all := reflect.TypeFor[informers.SharedInformerFactory]()
	checked := 0
	for group := range all.Methods() {
		if group.Type.NumIn() != 0 || group.Type.NumOut() != 1 || !strings.HasPrefix(group.Type.Out(0).PkgPath(), "k8s.io/client-go/informers/") {
			continue
		}
		foreign := false
		for _, name := range newer {
			foreign = foreign || name == group.Name
		}
		versions := reflect.ValueOf(factory).MethodByName(group.Name).Call(nil)[0]
		for v := range versions.NumMethod() {
			types := versions.Method(v).Call(nil)[0]
			for n := range types.NumMethod() {
				if types.Type().Method(n).Type.NumIn() != 0 {
					continue
				}
				of, ok := types.Method(n).Call(nil)[0].Interface().(interface {
					Informer() clientcache.SharedIndexInformer
				})
				if !ok {
					continue
				}
				checked++
				if got := isOurs(of.Informer()); got == foreign {
					t.Errorf("%s().%s().%s(): ours is %v", group.Name, versions.Type().Method(v).Name, types.Type().Method(n).Name, got)
				}
			}
		}
	}
	if checked < 90 {
		t.Errorf("only %d accessors were found", checked)
	}
}

// Every resource of the scheme that the factory knows by its name has an informer of ours,
// the same as by its accessor.
func TestFactoryForResource(t *testing.T) {
	factory := clientgo.NewSharedInformerFactory(fake.NewClientset(), clientgo.FactoryOptions{})
	found := 0
	for kind := range scheme.Scheme.AllKnownTypes() {
		plural, _ := guess(kind)
		generic, err := factory.ForResource(plural)
		if err != nil {
			continue
		}
		found++
		if !isOurs(generic.Informer()) {
			t.Errorf("%s is not ours", plural)
		}
	}
	if found < 90 {
		t.Errorf("only %d resources were found", found)
	}
	pods, err := factory.ForResource(corev1.SchemeGroupVersion.WithResource("pods"))
	if err != nil {
		t.Fatal(err)
	}
	if err := pods.Informer().GetIndexer().Add(pod("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := factory.Core().V1().Pods().Lister().Pods("ns").Get("a"); err != nil {
		t.Errorf("the accessor has another informer: %v", err)
	}
	if _, err := pods.Lister().ByNamespace("ns").Get("a"); err != nil {
		t.Errorf("the generic lister: %v", err)
	}
	if _, err := factory.ForResource(schema.GroupVersionResource{Resource: "nothing"}); err == nil {
		t.Error("no error for a resource that there is not")
	}
}

func guess(kind schema.GroupVersionKind) (plural schema.GroupVersionResource, singular schema.GroupVersionResource) {
	lower := strings.ToLower(kind.Kind)
	switch {
	case strings.HasSuffix(lower, "endpoints"):
	case strings.HasSuffix(lower, "s"):
		lower += "es"
	case strings.HasSuffix(lower, "y"):
		lower = strings.TrimSuffix(lower, "y") + "ies"
	default:
		lower += "s"
	}
	return kind.GroupVersion().WithResource(lower), kind.GroupVersion().WithResource(strings.ToLower(kind.Kind))
}

// A factory's life: informers are started once, sync, list, and are waited for.
func TestFactoryLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		factory := clientgo.NewSharedInformerFactory(fake.NewClientset(pod("a")), clientgo.FactoryOptions{})
		pods := factory.Core().V1().Pods().Lister()
		factory.Start(stop)
		factory.Start(stop)
		if synced := factory.WaitForCacheSync(stop); len(synced) != 1 || !synced[reflect.TypeFor[*corev1.Pod]()] {
			t.Errorf("synced: %v", synced)
		}
		if list, err := pods.List(labels.Everything()); err != nil || len(list) != 1 {
			t.Errorf("the lister has %v, %v", list, err)
		}
		if list, err := pods.Pods("ns").List(labels.Everything()); err != nil || len(list) != 1 {
			t.Errorf("the lister of a namespace has %v, %v", list, err)
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

// A wait that ends before the informers have synced says which have not, and why.
func TestFactorySaysWhatHasNotSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		failing(client, "pods")
		factory := clientgo.NewSharedInformerFactory(client, clientgo.FactoryOptions{})
		factory.Core().V1().Pods().Informer()
		factory.Core().V1().Nodes().Informer()
		ctx, cancel := contextWithCause(t)
		factory.StartWithContext(ctx)
		synctest.Wait()
		cancel(errGaveUp)
		result := factory.WaitForCacheSyncWithContext(ctx)
		factory.Shutdown()
		if result.Synced[reflect.TypeFor[*corev1.Pod]()] || !result.Synced[reflect.TypeFor[*corev1.Node]()] || result.Err != errGaveUp {
			t.Errorf("the result is %v, %v", result.Synced, result.Err)
		}
		if err := result.AsError(); err == nil || !strings.Contains(err.Error(), "v1.Pod") {
			t.Errorf("the error is %v", err)
		}
	})
}

// The options reach the informers, whoever makes them.
func TestFactoryOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(pod("a"), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "b"}})
		var tweaked atomic.Int32
		factory := clientgo.NewSharedInformerFactory(client, clientgo.FactoryOptions{
			Options:          clientgo.Options{Indexers: clientcache.Indexers{"name": byName}},
			Namespace:        "other",
			TweakListOptions: func(*metav1.ListOptions) { tweaked.Add(1) },
			Transform: func(obj any) (any, error) {
				obj.(metav1.Object).SetLabels(map[string]string{"seen": "yes"})
				return obj, nil
			},
			CustomResync: map[metav1.Object]time.Duration{&corev1.Pod{}: time.Hour},
		})
		informer := factory.Core().V1().Pods().Informer()
		handler := &noted{}
		if _, err := informer.AddEventHandler(handler); err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		factory.Start(stop)
		synctest.Wait()
		if tweaked.Load() == 0 {
			t.Error("TweakListOptions was not called")
		}
		for _, name := range []string{"name", clientcache.NamespaceIndex} {
			if informer.GetIndexer().GetIndexers()[name] == nil {
				t.Errorf("there is no index %q", name)
			}
		}
		list := informer.GetStore().List()
		if len(list) != 1 || list[0].(*corev1.Pod).Name != "b" || list[0].(*corev1.Pod).Labels["seen"] != "yes" {
			t.Errorf("the store has %v", list)
		}
		handler.take()
		<-time.After(time.Hour)
		synctest.Wait()
		if got := handler.take(); len(got) != 1 || got[0] != "U b" {
			t.Errorf("after the resync period the handler was told %q", got)
		}
		close(stop)
		factory.Shutdown()
	})
}

func byName(obj any) ([]string, error) { return []string{obj.(metav1.Object).GetName()}, nil }

// kube-scheduler makes its informer of Pods itself, with a selector, and a transform.
func TestInformerForTakesAnInformerOfClientGoApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(pod("a"), labelled(pod("b"), "keep", "yes"))
		factory := clientgo.NewSharedInformerFactory(client, clientgo.FactoryOptions{})
		selected := func(client kubernetes.Interface, resync time.Duration) clientcache.SharedIndexInformer {
			like := coreinformers.NewFilteredPodInformer(client, metav1.NamespaceAll, resync, clientcache.Indexers{"name": byName},
				func(options *metav1.ListOptions) { options.LabelSelector = "keep=yes" })
			if err := like.SetTransform(func(obj any) (any, error) {
				obj.(*corev1.Pod).ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "seen"}}
				return obj, nil
			}); err != nil {
				t.Error(err)
			}
			return like
		}
		informer := factory.InformerFor(&corev1.Pod{}, selected)
		if !isOurs(informer) {
			t.Fatal("the informer is not ours")
		}
		if factory.Core().V1().Pods().Informer().GetIndexer() != informer.GetIndexer() {
			t.Error("the accessor gives another one")
		}
		stop := make(chan struct{})
		factory.Start(stop)
		factory.WaitForCacheSync(stop)
		found, err := informer.GetIndexer().ByIndex("name", "b")
		if err != nil || len(found) != 1 || found[0].(*corev1.Pod).ManagedFields[0].Manager != "seen" || len(informer.GetStore().List()) != 1 {
			t.Errorf("the store has %v, %v", informer.GetStore().List(), err)
		}
		close(stop)
		factory.Shutdown()
	})
}

// An informer that is ours, or in use, or nobody knows whose, stays what it is.
func TestInformerForLeavesOthersAlone(t *testing.T) {
	client := fake.NewClientset()
	ours := clientgo.NewSharedIndexInformer(podsOf(client), &corev1.Pod{}, 0, nil)
	used := coreinformers.NewPodInformer(client, "", 0, nil)
	if _, err := used.AddEventHandler(&noted{}); err != nil {
		t.Fatal(err)
	}
	unknown := struct {
		clientcache.SharedIndexInformer
	}{ours}
	for name, informer := range map[string]clientcache.SharedIndexInformer{"ours": ours, "in use": used, "unknown": unknown} {
		factory := clientgo.NewSharedInformerFactory(client, clientgo.FactoryOptions{})
		got := factory.InformerFor(&corev1.Pod{}, func(kubernetes.Interface, time.Duration) clientcache.SharedIndexInformer { return informer })
		if got != informer {
			t.Errorf("%s: it has become another", name)
		}
	}
}

// The dynamic and the metadata factory list, watch and are waited for as client-go's are.
func TestResourceFactories(t *testing.T) {
	resource := corev1.SchemeGroupVersion.WithResource("pods")
	type started interface {
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
		make func() started
		of   runtime.Object
	}{
		"dynamic": {func() started {
			return clientgo.NewDynamicSharedInformerFactory(dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("a")), clientgo.FactoryOptions{})
		}, &unstructured.Unstructured{}},
		"metadata": {func() started {
			return clientgo.NewMetadataSharedInformerFactory(metadatafake.NewSimpleMetadataClient(metadataScheme, metadata), clientgo.FactoryOptions{})
		}, &metav1.PartialObjectMetadata{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				factory := test.make()
				generic := factory.ForResource(resource)
				if generic.Informer() != factory.ForResource(resource).Informer() || !isOurs(generic.Informer()) {
					t.Error("not one informer, or not ours")
				}
				stop := make(chan struct{})
				factory.Start(stop)
				if synced := factory.WaitForCacheSync(stop); !synced[resource] {
					t.Errorf("synced: %v", synced)
				}
				obj, err := generic.Lister().ByNamespace("ns").Get("a")
				if err != nil || reflect.TypeOf(obj) != reflect.TypeOf(test.of) {
					t.Errorf("the lister has %v, %v", obj, err)
				}
				close(stop)
				factory.Shutdown()
			})
		})
	}
}
