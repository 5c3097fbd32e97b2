package clientgo_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
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
// streaming and packing store the same objects, and that they stream only if EnableStreaming has
// prepared the client.
func TestStreamingAndPacking(t *testing.T) {
	config, closeServer := cluster()
	defer closeServer()
	tapped := rest.CopyConfig(config)
	cache.EnableStreaming(tapped)
	decoded := contents(t, config, clientgo.Options{}, false) // without EnableStreaming
	for _, options := range []clientgo.Options{{}, {Packed: true}, {ShareEqual: true}, {DisableStreaming: true}, {DisableStreaming: true, Packed: true}} {
		t.Run(fmt.Sprintf("%+v", options), func(t *testing.T) {
			for name, objects := range contents(t, tapped, options, !options.DisableStreaming) {
				if want := decoded[name]; !reflect.DeepEqual(objects, want) {
					t.Errorf("%s: the store has\n%#v, want\n%#v", name, objects, want)
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
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			informer.RunWithContext(ctx)
		}()
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
		cancel()
		<-stopped
		all[name] = objects
	}
	return all
}

// TestStreamingAndPackingWithTransform checks that a packed object is the transform's result, not
// the bytes of the response.
func TestStreamingAndPackingWithTransform(t *testing.T) {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	constructors := clientgo.With(clientgo.Options{Packed: true})
	factory := constructors.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(config), 0, constructors.WithTransform(func(obj any) (any, error) {
		obj.(*corev1.Pod).Labels = map[string]string{"transformed": "yes"}
		return obj, nil
	}))
	pods := factory.Core().V1().Pods()
	informer := pods.Informer()
	ctx, cancel := context.WithCancel(t.Context())
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx)
	pod, err := pods.Lister().Pods("default").Get("web-0")
	if err != nil || pod.Labels["transformed"] != "yes" || len(pod.Labels) != 1 {
		t.Errorf("the store has %v, %v", pod, err)
	}
	if streaming, reason := clientgo.Streaming(informer); !streaming {
		t.Errorf("the informer does not stream: %s", reason)
	}
	cancel()
	factory.Shutdown()
}
