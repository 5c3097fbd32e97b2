// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// informersOf returns an informer of Pods for each type of client.
func informersOf(config *rest.Config, options clientgo.Options) map[string]clientcache.SharedIndexInformer {
	resource := corev1.SchemeGroupVersion.WithResource("pods")
	constructors := clientgo.With(options)
	typed := constructors.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
	dynamicFactory := constructors.NewDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(config), 0)
	metadataFactory := constructors.Metadata().NewSharedInformerFactory(metadata.NewForConfigOrDie(config), 0)
	return map[string]clientcache.SharedIndexInformer{
		"typed":    typed.Core().V1().Pods().Informer(),
		"dynamic":  dynamicFactory.ForResource(resource).Informer(),
		"metadata": metadataFactory.ForResource(resource).Informer(),
	}
}

// TestStreamingAndPacking checks, for each type of client, that informers with and without
// streaming and packing store the same objects, whether EnableStreaming has prepared the client or
// not, and that they stream unless that is disabled.
func TestStreamingAndPacking(t *testing.T) {
	config := startCluster(t)
	tapped := rest.CopyConfig(config)
	cache.EnableStreaming(tapped)
	decoded := contents(t, config, clientgo.Options{DisableStreaming: true}, false)
	for _, options := range []clientgo.Options{{}, {Packed: true}, {ShareEqual: true}, {DisableStreaming: true}, {DisableStreaming: true, Packed: true}} {
		t.Run(fmt.Sprintf("%+v", options), func(t *testing.T) {
			for _, config := range []*rest.Config{config, tapped} {
				for name, objects := range contents(t, config, options, !options.DisableStreaming) {
					if want := decoded[name]; !reflect.DeepEqual(objects, want) {
						t.Errorf("%s: the store has\n%#v, want\n%#v", name, objects, want)
					}
				}
			}
		})
	}
}

// contents runs an informer for each type of client until it has synced, and returns the stored
// objects by name.
func contents(t *testing.T, config *rest.Config, options clientgo.Options, streaming bool) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for name, informer := range informersOf(config, options) {
		stop := background(t, informer.RunWithContext)
		<-informer.HasSyncedChecker().Done()
		objects := map[string]any{}
		for _, obj := range informer.GetStore().List() {
			objects[obj.(metav1.Object).GetName()] = obj
		}
		if got, reason := clientgo.Streaming(informer); got != streaming {
			t.Errorf("%s: streaming is %v, want %v: %s", name, got, streaming, reason)
		}
		found, err := informer.GetIndexer().ByIndex(clientcache.NamespaceIndex, "default")
		if err != nil || len(found) != len(objects) || len(objects) != 2 {
			t.Errorf("%s: the store has %d objects, the index by namespace has %d, %v", name, len(objects), len(found), err)
		}
		stop()
		all[name] = objects
	}
	return all
}

// TestStreamingAndPackingWithTransform checks that a packed object is the transform's result, not
// the bytes of the response.
func TestStreamingAndPackingWithTransform(t *testing.T) {
	config := startCluster(t)
	cache.EnableStreaming(config)
	constructors := clientgo.With(clientgo.Options{Packed: true})
	factory := constructors.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(config), 0, constructors.WithTransform(func(obj any) (any, error) {
		obj.(*corev1.Pod).Labels = map[string]string{"transformed": "yes"}
		return obj, nil
	}))
	pods := factory.Core().V1().Pods()
	informer := pods.Informer()
	factory.WaitForCacheSync(startFactory(t, factory))
	pod, err := pods.Lister().Pods("default").Get("web-0")
	if err != nil || pod.Labels["transformed"] != "yes" || len(pod.Labels) != 1 {
		t.Errorf("the store has %v, %v", pod, err)
	}
	if streaming, reason := clientgo.Streaming(informer); !streaming {
		t.Errorf("the informer does not stream: %s", reason)
	}
}

// TestWarningOfInformerThatDoesNotStream checks that an informer warns once, with the remedy, if
// the program has asked for streaming, by an option or by EnableStreaming, and it does not stream.
func TestWarningOfInformerThatDoesNotStream(t *testing.T) {
	config := startCluster(t)
	tapped := rest.CopyConfig(config)
	cache.EnableStreaming(tapped)
	ofPods := func(options clientgo.Options, config *rest.Config) clientcache.SharedIndexInformer {
		return clientgo.With(options).NewSharedIndexInformer(podsOf(kubernetes.NewForConfigOrDie(config)), &corev1.Pod{}, 0, nil)
	}
	for name, c := range map[string]struct {
		informer clientcache.SharedIndexInformer
		warning  string // empty for none
	}{
		"functions unknown":         {ofPods(clientgo.Options{}, tapped), "set Streaming"},
		"config not prepared":       {ofPods(clientgo.Options{Streaming: true}, config), "call EnableStreaming"},
		"streaming":                 {ofPods(clientgo.Options{Streaming: true}, tapped), ""},
		"not asked for":             {ofPods(clientgo.Options{}, config), ""},
		"disabled":                  {ofPods(clientgo.Options{DisableStreaming: true}, tapped), ""},
		"factory, not asked for":    {plain.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0).Core().V1().Pods().Informer(), ""},
		"function of InformerFor":   {plain.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(tapped), 0).InformerFor(&corev1.Pod{}, newPodInformer), "set Streaming"},
		"type unknown":              {clientgo.With(clientgo.Options{Streaming: true}).NewSharedIndexInformer(podsOf(kubernetes.NewForConfigOrDie(tapped)), nil, 0, nil), "pass an example object"},
		"functions without context": {clientgo.Adopt(olderPodInformer(kubernetes.NewForConfigOrDie(tapped)), clientgo.Options{}), "set ListWithContextFunc"},
		"controller-runtime":        {clientgo.Options{}.NewInformer(podsOf(kubernetes.NewForConfigOrDie(tapped)), &corev1.Pod{}, 0, nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			logged := runLogged(t, c.informer)
			<-c.informer.HasSyncedChecker().Done()
			const warning = "Warning: lists and watches are not read from the stream"
			if c.warning == "" {
				if n := logged.count(warning); n != 0 {
					t.Errorf("%d warnings:\n%s", n, &logged.log)
				}
				return
			}
			if logged.count(warning) != 1 || logged.count(c.warning) == 0 || logged.count(`informer="`) == 0 {
				t.Errorf("want one warning with %q:\n%s", c.warning, &logged.log)
			}
		})
	}
}

func newPodInformer(client kubernetes.Interface, resync time.Duration) clientcache.SharedIndexInformer {
	return coreinformers.NewPodInformer(client, metav1.NamespaceAll, resync, nil)
}

// TestWarningOfPackingWithoutType checks that an informer without an example stores objects as they
// are, and warns if Packed is set.
func TestWarningOfPackingWithoutType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := clientgo.With(clientgo.Options{Packed: true}).NewSharedIndexInformer(newServer("a"), nil, 0, nil)
		logged := runLogged(t, informer)
		<-informer.HasSyncedChecker().Done()
		if len(informer.GetStore().ListKeys()) != 1 || logged.count("Warning: objects are not packed") != 1 {
			t.Errorf("the store has %v, and the log is\n%s", informer.GetStore().ListKeys(), &logged.log)
		}
	})
}

// olderPodInformer returns an informer as older generated code makes it.
func olderPodInformer(client kubernetes.Interface) clientcache.SharedIndexInformer {
	return clientcache.NewSharedIndexInformer(clientcache.ToListWatcherWithWatchListSemantics(&clientcache.ListWatch{
		ListFunc: func(options metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Pods("").List(context.TODO(), options)
		},
		WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Pods("").Watch(context.TODO(), options)
		},
	}, client), &corev1.Pod{}, 0, nil)
}

// embeddedListWatch promotes a ListWatch through a pointer that may be nil.
type embeddedListWatch struct {
	clientcache.ListerWatcher
	*promotedListWatch
}

type promotedListWatch struct{ ListWatch *clientcache.ListWatch }

// TestListerWatcherOfProgram checks that the type of a program's ListerWatcher does not matter.
func TestListerWatcherOfProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := run(t, embeddedListWatch{ListerWatcher: newServer("a")}, clientgo.Options{Streaming: true})
		h.expectEvents("A a@2 initial")
	})
}
