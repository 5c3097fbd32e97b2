// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

const (
	namespace   = "default"
	clusterName = "db"
	clusterKey  = namespace + "/" + clusterName
)

var clusterResource = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "clusters"}

// newCluster returns the custom resource that an operator works for. Values of the spec are strings
// or int64.
func newCluster(spec map[string]any, finalizers ...string) *unstructured.Unstructured {
	cluster := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Cluster", "spec": spec}}
	cluster.SetNamespace(namespace)
	cluster.SetName(clusterName)
	cluster.SetFinalizers(finalizers)
	return cluster
}

func sized(replicas int64) *unstructured.Unstructured {
	return newCluster(map[string]any{"replicas": replicas})
}

func text(cluster *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(cluster.Object, path...)
	return value
}

func number(cluster *unstructured.Unstructured, path ...string) int64 {
	value, _, _ := unstructured.NestedInt64(cluster.Object, path...)
	return value
}

// operator is what the operators of the bugs have in common: informers, one key in a queue, and a
// worker. Any event of a watched object enqueues the Cluster.
type operator struct {
	kubernetes.Interface
	informers informers.SharedInformerFactory
	dynamic   dynamic.Interface
	clusters  clientcache.GenericNamespaceLister
	handler   clientcache.ResourceEventHandler
}

// syncFunc reconciles the Cluster, which is nil if the cache has none. It must not be modified.
type syncFunc func(ctx context.Context, cluster *unstructured.Unstructured) error

// ifPresent returns a function that does nothing for a Cluster that the cache does not have.
func ifPresent(sync syncFunc) syncFunc {
	return func(ctx context.Context, cluster *unstructured.Unstructured) error {
		if cluster == nil {
			return nil
		}
		return sync(ctx, cluster)
	}
}

// operatorTest is the test of an operator. Build returns its function, and calls watch for all
// resources that it reads from the cache.
func operatorTest(build func(*operator) syncFunc) simulate.Test {
	return simulate.Test{
		CustomResources: []fake.CustomResource{{Group: "example.com", Versions: []string{"v1"}, Kind: "Cluster", StatusSubresource: true}},
		Start:           func(ctx context.Context, config *rest.Config) error { return runOperator(ctx, config, build) },
	}
}

// restarts returns the disturbances of a bug that needs a process that starts with an old state:
// only these if they are to find it, and all if the mended operator is to pass.
func restarts(mended bool) []simulate.Disturbance {
	if !mended {
		return []simulate.Disturbance{simulate.BackInTime{}}
	}
	return []simulate.Disturbance{
		simulate.Crash{}, simulate.LostResponse{}, simulate.Conflict{}, simulate.ServerError{}, simulate.TooManyRequests{},
		simulate.Lag{}, simulate.Gap{}, simulate.BackInTime{},
	}
}

func runOperator(ctx context.Context, config *rest.Config, build func(*operator) syncFunc) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	enqueue := func(any) { queue.Add(clusterKey) }
	o := &operator{
		Interface: client, dynamic: dynamicClient, informers: informers.NewSharedInformerFactory(client, 0),
		handler: clientcache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }, DeleteFunc: enqueue},
	}
	custom := dynamicinformer.NewDynamicSharedInformerFactory(dynamicClient, 0)
	o.clusters = watch(o, custom.ForResource(clusterResource)).Lister().ByNamespace(namespace)
	sync := build(o)
	o.informers.Start(ctx.Done())
	custom.Start(ctx.Done())
	defer o.informers.Shutdown()
	defer custom.Shutdown()
	o.informers.WaitForCacheSync(ctx.Done())
	custom.WaitForCacheSync(ctx.Done())
	stop := context.AfterFunc(ctx, queue.ShutDown)
	defer stop()
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return nil
		}
		if err := o.sync(ctx, sync); err != nil {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}

// watch makes the events of an informer enqueue the Cluster, and returns it.
func watch[I interface {
	Informer() clientcache.SharedIndexInformer
}](o *operator, informer I) I {
	if _, err := informer.Informer().AddEventHandler(o.handler); err != nil {
		panic(err) // a new informer has not stopped
	}
	return informer
}

func (o *operator) sync(ctx context.Context, sync syncFunc) error {
	obj, err := o.clusters.Get(clusterName)
	if apierrors.IsNotFound(err) {
		return sync(ctx, nil)
	}
	if err != nil {
		return err
	}
	return sync(ctx, obj.(*unstructured.Unstructured))
}

// stored reads the Cluster from the API server. It returns nil if there is none.
func (o *operator) stored(ctx context.Context) (*unstructured.Unstructured, error) {
	cluster, err := o.dynamic.Resource(clusterResource).Namespace(namespace).Get(ctx, clusterName, metav1.GetOptions{})
	if err != nil {
		return nil, ignoring(apierrors.IsNotFound, err)
	}
	return cluster, nil
}

// updateStatus sets fields of the status to values. A field that is nil is removed.
func (o *operator) updateStatus(ctx context.Context, fields map[string]any) error {
	clusters := o.dynamic.Resource(clusterResource).Namespace(namespace)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		cluster, err := clusters.Get(ctx, clusterName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for name, value := range fields {
			if value == nil {
				unstructured.RemoveNestedField(cluster.Object, "status", name)
			} else if err := unstructured.SetNestedField(cluster.Object, value, "status", name); err != nil {
				return err
			}
		}
		_, err = clusters.UpdateStatus(ctx, cluster, metav1.UpdateOptions{})
		return err
	})
}

// scale sets the replicas of a StatefulSet, unless it has changed.
func (o *operator) scale(ctx context.Context, set *appsv1.StatefulSet, replicas int64) error {
	changed := set.DeepCopy()
	changed.Spec.Replicas = new(int32(replicas))
	_, err := o.AppsV1().StatefulSets(namespace).Update(ctx, changed, metav1.UpdateOptions{})
	return err
}

// ignoring returns nil for an error for which is reports true.
func ignoring(is func(error) bool, err error) error {
	if err != nil && is(err) {
		return nil
	}
	return err
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// ordinal returns the name of the i-th of the numbered objects.
func ordinal(name string, i int64) string { return fmt.Sprintf("%s-%d", name, i) }

// ordinalOf returns the number of an object, if it is one of the numbered objects.
func ordinalOf(name, numbered string) (int64, bool) {
	suffix, ok := strings.CutPrefix(numbered, name+"-")
	i, err := strconv.ParseInt(suffix, 10, 64)
	return i, ok && err == nil
}

// newPod returns a Pod of one container.
func newPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: named(name), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: "db"}}}}
}

// newStatefulSet returns the StatefulSet of the Cluster, whose Pods have a claim of a size.
func newStatefulSet(replicas int64, size resource.Quantity) *appsv1.StatefulSet {
	labels := map[string]string{"app": clusterName}
	return &appsv1.StatefulSet{
		ObjectMeta: named(clusterName),
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(replicas)), ServiceName: clusterName, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       newPod("").Spec,
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: newClaim("", size).Spec}},
		},
	}
}

// newClaim returns a claim for a volume of a size.
func newClaim(name string, size resource.Quantity) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: named(name),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	}
}

// sizeOf returns the size that a claim requests.
func sizeOf(spec corev1.PersistentVolumeClaimSpec) resource.Quantity {
	return spec.Resources.Requests[corev1.ResourceStorage]
}

// isReplaced reports whether an object that was to be deleted does not exist, or another one has
// its name.
func isReplaced(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }
