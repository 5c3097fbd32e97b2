// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	clientgodynamic "github.com/kinformer/kinformer/clientgo/dynamicinformer"
	clientgoinformers "github.com/kinformer/kinformer/clientgo/informers"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// replicator creates and deletes Pods with generated names until there are as many as the Cluster
// wants, and writes their number to the status.
//
// The bug: it reconciles while its cache lacks Pods that it has created, and creates one too many.
// Or its cache has Pods that it has deleted, and it deletes one too many: if one is gone already,
// it takes the next. The mended one asks a cache.ConsistencyStore first.
type replicator struct {
	kubernetes.Interface
	dynamic dynamic.Interface
	caches  replicatorCaches
	queue   workqueue.TypedRateLimitingInterface[string]
	writes  *cache.ConsistencyStore[string]
	mended  bool
}

// replicatorCaches are the informers of package cache, or those of package clientgo.
type replicatorCaches struct {
	clusters, pods *cache.Controller
	cluster        func(key string) (obj *unstructured.Unstructured, exists bool)
	listPods       func() []*corev1.Pod
}

// staleScaleUp uses the informers of package cache, and staleScaleDown those of package clientgo.
func staleScaleUp(mended bool) simulate.Test {
	return staleReplicas(mended, ownCaches, atMostThreePods)
}

func staleScaleDown(mended bool) simulate.Test {
	return staleReplicas(mended, adaptedCaches, twoPodsAreKept)
}

func staleReplicas(mended bool, caches func(*replicator) replicatorCaches, invariant func(simulate.Write) error) simulate.Test {
	return simulate.Test{
		CustomResources: []fake.CustomResource{{Group: "example.com", Versions: []string{"v1"}, Kind: "Cluster", StatusSubresource: true}},
		Start: func(ctx context.Context, config *rest.Config) error {
			r := &replicator{
				Interface: kubernetes.NewForConfigOrDie(config), dynamic: dynamic.NewForConfigOrDie(config), mended: mended,
				queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
			}
			r.writes = cache.NewConsistencyStore(r.queue.Add)
			r.caches = caches(r)
			return cache.RunAll(ctx, r.caches.clusters.Run, r.caches.pods.Run, r.work)
		},
		Objects: []fake.Object{sized(1)},
		Steps: func(w *simulate.World) {
			w.Update(sized(3))
			w.Settle()
			w.Update(sized(2))
		},
		// A create whose response is lost needs a name that the program chooses.
		Disturb: []simulate.Disturbance{
			simulate.Crash{}, simulate.Conflict{}, simulate.ServerError{}, simulate.TooManyRequests{}, simulate.Lag{}, simulate.Gap{},
		},
		// A stale cache leads to conflicts, too. The test is to find what the invariant says.
		Without:    []simulate.Oracle{simulate.Refused},
		Invariants: []func(simulate.Write) error{invariant},
	}
}

// atMostThreePods is an invariant.
func atMostThreePods(w simulate.Write) error {
	if pods := len(simulate.All[*corev1.Pod](w.After)); w.Verb == "create" && pods > 3 {
		return fmt.Errorf("%d Pods exist", pods)
	}
	return nil
}

func ownCaches(r *replicator) (c replicatorCaches) {
	clusters, controller := cache.NewInformer(cache.ListWatchOf(r.dynamic.Resource(clusterResource).Namespace(namespace)),
		&unstructured.Unstructured{}, 0, enqueueCluster[*unstructured.Unstructured](r.queue))
	c.cluster, c.clusters = clusters.GetByKey, controller
	pods, controller := cache.NewInformer(cache.ListWatchOf(r.CoreV1().Pods(namespace)), &corev1.Pod{}, 0, enqueueCluster[*corev1.Pod](r.queue))
	c.listPods, c.pods = pods.List, controller
	return c
}

func enqueueCluster[T cache.Object](queue workqueue.TypedInterface[string]) cache.EventHandler[T] {
	return cache.EventHandlerFunc[T](func(cache.Event[T]) { queue.Add(clusterKey) })
}

func adaptedCaches(r *replicator) (c replicatorCaches) {
	enqueue := func(any) { r.queue.Add(clusterKey) }
	handler := clientcache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }, DeleteFunc: enqueue}
	clusters := clientgodynamic.NewDynamicSharedInformerFactory(r.dynamic, 0).ForResource(clusterResource).Informer()
	pods := clientgoinformers.NewSharedInformerFactory(r.Interface, 0).Core().V1().Pods()
	for _, informer := range []clientcache.SharedIndexInformer{clusters, pods.Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			panic(err) // a new informer has not stopped
		}
	}
	c.cluster = func(key string) (*unstructured.Unstructured, bool) {
		obj, exists, err := clusters.GetStore().GetByKey(key)
		if err != nil || !exists {
			return nil, false
		}
		return obj.(*unstructured.Unstructured), true
	}
	c.listPods = func() []*corev1.Pod {
		list, _ := pods.Lister().List(labels.Everything()) // of a cache, without an error
		return list
	}
	c.clusters, c.pods = clientgo.ControllerOf(clusters), clientgo.ControllerOf(pods.Informer())
	return c
}

func (r *replicator) work(ctx context.Context) error {
	stop := context.AfterFunc(ctx, r.queue.ShutDown)
	defer stop()
	for _, controller := range []*cache.Controller{r.caches.clusters, r.caches.pods} {
		if err := controller.WaitForDelivery(ctx); err != nil {
			return nil // ctx has ended
		}
	}
	for {
		key, shutdown := r.queue.Get()
		if shutdown {
			return nil
		}
		if err := r.reconcile(ctx, key); err != nil {
			r.queue.AddRateLimited(key)
		} else {
			r.queue.Forget(key)
		}
		r.queue.Done(key)
	}
}

func (r *replicator) reconcile(ctx context.Context, key string) error {
	if r.mended && r.writes.EnsureReady(key) != nil {
		return nil // the queue gets the key when it is ready
	}
	cluster, exists := r.caches.cluster(key)
	if !exists {
		return nil
	}
	pods := slices.DeleteFunc(r.caches.listPods(), func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	replicas := int(number(cluster, "spec", "replicas"))
	for range replicas - len(pods) {
		if err := r.create(ctx, key); err != nil {
			return err
		}
	}
	surplus := len(pods) - replicas
	for _, pod := range pods {
		if surplus <= 0 {
			break
		}
		err := r.delete(ctx, key, pod)
		if err == nil {
			surplus--
		} else if !apierrors.IsNotFound(err) {
			return err
		}
	}
	return r.updateStatus(ctx, key, cluster)
}

func (r *replicator) create(ctx context.Context, key string) error {
	pod := newPod("")
	pod.GenerateName = clusterName + "-"
	pod, err := r.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err == nil {
		r.writes.WroteAt(key, r.caches.pods, pod)
	}
	return err
}

func (r *replicator) delete(ctx context.Context, key string, pod *corev1.Pod) error {
	err := r.CoreV1().Pods(namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	if err == nil {
		r.writes.Deleted(key, r.caches.pods, pod)
	}
	return err
}

func (r *replicator) updateStatus(ctx context.Context, key string, cluster *unstructured.Unstructured) error {
	replicas := number(cluster, "spec", "replicas")
	if number(cluster, "status", "replicas") == replicas {
		return nil
	}
	changed := cluster.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, replicas, "status", "replicas"); err != nil {
		return err
	}
	changed, err := r.dynamic.Resource(clusterResource).Namespace(namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if err == nil {
		r.writes.WroteAt(key, r.caches.clusters, changed)
	}
	return err
}
