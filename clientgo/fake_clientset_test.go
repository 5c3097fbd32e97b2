package clientgo_test

import (
	"context"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
)

// podsOf lists and watches Pods as generated factories do.
func podsOf(client kubernetes.Interface) clientcache.ListerWatcher {
	return clientcache.ToListWatcherWithWatchListSemantics(&clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Pods("").List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Pods("").Watch(ctx, options)
		},
	}, client)
}

// Fact 1: the fake clientset gives neither resourceVersion nor UID, before and after an
// update; every change arrives all the same.
func TestFact01FakeClientsetsHaveNoVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(pod("a"))
		pods := client.CoreV1().Pods("ns")
		s := run(t, podsOf(client), clientgo.Options{})
		s.expect("A a initial")
		for _, err := range []error{
			result(pods.Create(t.Context(), pod("b"), metav1.CreateOptions{})),
			result(pods.Update(t.Context(), labelled(pod("b"), "v", "1"), metav1.UpdateOptions{})),
			result(pods.Update(t.Context(), labelled(pod("b"), "v", "2"), metav1.UpdateOptions{})),
			pods.Delete(t.Context(), "a", metav1.DeleteOptions{}),
		} {
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		s.expect("A b", "U b", "U b", "D a")
		if obj, ok, _ := s.informer.GetStore().GetByKey("ns/b"); !ok || obj.(*corev1.Pod).Labels["v"] != "2" {
			t.Errorf("the store has %v, %v", obj, ok)
		}
	})
}

func result[T any](_ T, err error) error { return err }
