// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	clientfake "k8s.io/client-go/kubernetes/fake"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestAdoptKeepsConfiguration adopts an informer with each property that client-go's can have
// before it runs.
func TestAdoptKeepsConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientfake.NewClientset(cachetest.Pod("a"), cachetest.Pod("b", cachetest.WithLabel("keep", "yes")))
		var lists atomic.Int32
		failLists(client, "pods", errRefused, func() bool { return lists.Add(1) == 1 })
		original := coreinformers.NewFilteredPodInformer(client, "ns", time.Hour, clientcache.Indexers{"name": byName},
			func(options *metav1.ListOptions) { options.LabelSelector = "keep=yes" })
		var errs errorRecorder
		errs.handle(t)(original)
		withTransform(t, func(obj any) (any, error) {
			obj.(*corev1.Pod).Annotations = map[string]string{"seen": "yes"}
			return obj, nil
		})(original)
		informer := clientgo.Adopt(original, clientgo.Options{Packed: true})
		if !isAdapter(informer) {
			t.Fatalf("Adopt returned a %T", informer)
		}
		handler := &recordingHandler{}
		withHandler(t, handler)(informer)
		h := runInformer(t, informer)
		h.waitForKey("ns/b")
		if got := errs.all(); len(got) != 1 || !errors.Is(got[0], errRefused) {
			t.Errorf("the watch error handler received %v", got)
		}
		stored, err := informer.GetIndexer().ByIndex("name", "b")
		if err != nil || len(stored) != 1 || stored[0].(*corev1.Pod).Annotations["seen"] != "yes" {
			t.Errorf("the index has %v, %v", stored, err)
		}
		handler.take()
		cachetest.Advance(time.Hour)
		synctest.Wait()
		if got := handler.take(); len(got) != 1 || got[0] != "U b" {
			t.Errorf("after the resync period the handler received %q", got)
		}
	})
}

// wrappedInformer is an informer of client-go with methods of the program's.
type wrappedInformer struct {
	clientcache.SharedIndexInformer
}

// TestAdoptReturnsOtherInformers checks that Adopt, and a factory's InformerFor, return an informer
// unchanged, and warn, if it is in use or not client-go's.
func TestAdoptReturnsOtherInformers(t *testing.T) {
	client := clientfake.NewClientset()
	used := coreinformers.NewPodInformer(client, "", 0, nil)
	withHandler(t, &recordingHandler{})(used)
	own := plain.NewSharedIndexInformer(podsOf(client), &corev1.Pod{}, 0, nil)
	for name, informer := range map[string]clientcache.SharedIndexInformer{
		"in use":  used,
		"own":     own,
		"wrapped": &wrappedInformer{coreinformers.NewPodInformer(client, "", 0, nil)}, // Adopt would lose its methods
		"empty":   &emptyWrapper{},
	} {
		if got := clientgo.Adopt(informer, clientgo.Options{}); got != informer {
			t.Errorf("%s: Adopt returned another informer", name)
		}
		made := func(kubernetes.Interface, time.Duration) clientcache.SharedIndexInformer { return informer }
		if got := plain.NewSharedInformerFactory(client, 0).InformerFor(&corev1.Pod{}, made); got != informer {
			t.Errorf("%s: InformerFor returned another informer", name)
		}
	}
}

// same reports whether two informers are one, perhaps inside different typed wrappers.
func same(a, b clientcache.SharedIndexInformer) bool { return a.GetIndexer() == b.GetIndexer() }

// TestGeneratedFactoryKeepsOwnInformers asks a factory for an API group through Generated. After
// that, the factory's own accessors, listers, Start, WaitForCacheSync and Shutdown use this
// package's informer.
func TestGeneratedFactoryKeepsOwnInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		factory := clientinformers.NewSharedInformerFactory(clientfake.NewClientset(cachetest.Pod("a")), 0)
		pods := core.New(clientgo.Generated(factory, clientgo.Options{}), metav1.NamespaceAll, nil).V1().Pods()
		informer := pods.Informer()
		if !isAdapter(informer) || !same(factory.Core().V1().Pods().Informer(), informer) {
			t.Error("the factory does not return the informer that Generated made")
		}
		generic, err := factory.ForResource(podResource)
		if err != nil || !same(generic.Informer(), informer) {
			t.Errorf("ForResource returned another informer, %v", err)
		}
		if services := factory.Core().V1().Services().Informer(); isAdapter(services) {
			t.Error("a type that was not asked for through Generated has an informer of this package")
		}
		ctx, cancel := context.WithCancel(t.Context())
		factory.StartWithContext(ctx)
		if synced := factory.WaitForCacheSync(ctx.Done()); !synced[reflect.TypeFor[*corev1.Pod]()] {
			t.Errorf("synced is %v", synced)
		}
		if pod, err := factory.Core().V1().Pods().Lister().Pods("ns").Get("a"); err != nil || pod.Name != "a" {
			t.Errorf("the lister returned %v, %v", pod, err)
		}
		cancel()
		factory.Shutdown()
		if !informer.IsStopped() {
			t.Error("the informer runs after Shutdown")
		}
	})
}

// TestGeneratedHasTheSelectionOfTheFactory checks that informers made with Namespace and
// TweakListOptions select what the factory does, and that a warning is logged once if neither was
// called.
func TestGeneratedHasTheSelectionOfTheFactory(t *testing.T) {
	tweak := clientinformers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "app=web" })
	for name, c := range map[string]struct {
		options   []clientinformers.SharedInformerOption
		namespace string
		tweaks    bool
	}{
		"none":      {},
		"namespace": {[]clientinformers.SharedInformerOption{clientinformers.WithNamespace("blue")}, "blue", false},
		"both":      {[]clientinformers.SharedInformerOption{clientinformers.WithNamespace("blue"), tweak}, "blue", true},
		"tweak":     {[]clientinformers.SharedInformerOption{tweak}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			klog.SetLoggerWithOptions(funcr.New(func(_, args string) { log.WriteString(args) }, funcr.Options{}), klog.ContextualLogger(true))
			t.Cleanup(klog.ClearLogger)
			factory := clientinformers.NewSharedInformerFactoryWithOptions(clientfake.NewClientset(), 0, c.options...)
			own := clientgo.With(clientgo.Options{}).NewSharedInformerFactoryWithOptions(clientfake.NewClientset(), 0, c.options...)
			own.Core().V1().Pods().Informer()
			if log.Len() > 0 {
				t.Errorf("a factory of this package logged %s", log.String())
			}
			generated := clientgo.Generated(factory, clientgo.Options{})
			core.New(generated, metav1.NamespaceAll, nil).V1().Pods().Informer()
			core.New(generated, metav1.NamespaceAll, nil).V1().Services().Informer()
			selects := c.namespace != "" || c.tweaks
			if n := strings.Count(log.String(), "Warning: informers may not have"); n != 1 && selects || n > 0 && !selects {
				t.Errorf("%d warnings were logged: %s", n, log.String())
			}
			if got := generated.Namespace(); got != c.namespace {
				t.Errorf("the namespace is %q, want %q", got, c.namespace)
			}
			var options metav1.ListOptions
			if f := generated.TweakListOptions(); f != nil {
				f(&options)
			}
			if (options.LabelSelector == "app=web") != c.tweaks {
				t.Errorf("the label selector is %q", options.LabelSelector)
			}
			log.Reset()
			generated = clientgo.Generated(factory, clientgo.Options{})
			core.New(generated, generated.Namespace(), generated.TweakListOptions()).V1().Nodes().Informer()
			if log.Len() > 0 {
				t.Errorf("logged %s", log.String())
			}
			generated = clientgo.Generated(factory, clientgo.Options{})
			core.New(generated, generated.Namespace(), nil).V1().Secrets().Informer()
			if (log.Len() > 0) != c.tweaks {
				t.Errorf("without the list options, logged %q", log.String())
			}
		})
	}
}

// embeddingFactory is a factory of a program, which embeds one that may be nil.
type embeddingFactory struct{ *generatedFields }

type generatedFields struct {
	clientinformers.SharedInformerFactory
	namespace        string
	tweakListOptions func(*metav1.ListOptions)
}

// TestGeneratedTakesUnusualFactories checks that the selection of a factory that is not a generated
// one is not read.
func TestGeneratedTakesUnusualFactories(t *testing.T) {
	fields := &generatedFields{namespace: "blue", tweakListOptions: func(*metav1.ListOptions) {}}
	for name, factory := range map[string]clientinformers.SharedInformerFactory{
		"embedded nil": &embeddingFactory{}, "embedded": &embeddingFactory{fields}, "value": *fields,
	} {
		generated := clientgo.Generated(factory, clientgo.Options{})
		if generated.Namespace() != "" || generated.TweakListOptions() != nil {
			t.Errorf("%s: the namespace is %q", name, generated.Namespace())
		}
	}
}

// TestGeneratedKeepsEarlierInformers checks that a type that the factory was asked for before keeps
// its informer of client-go.
func TestGeneratedKeepsEarlierInformers(t *testing.T) {
	factory := clientinformers.NewSharedInformerFactory(clientfake.NewClientset(), 0)
	before := factory.Core().V1().Pods().Informer()
	generated := clientgo.Generated(factory, clientgo.Options{})
	if after := core.New(generated, metav1.NamespaceAll, nil).V1().Pods().Informer(); !same(after, before) {
		t.Error("the factory has two informers of Pods")
	}
}
