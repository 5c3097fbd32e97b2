// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// copier keeps, for each ConfigMap with the label copy, a Secret of the same name and data.
type copier struct {
	client     kubernetes.Interface
	configMaps corelisters.ConfigMapLister
	secrets    corelisters.SecretLister
	queue      workqueue.TypedRateLimitingInterface[string]
	reconcile  reconcileFunc
}

func start(reconcile reconcileFunc) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		factory := informers.NewSharedInformerFactory(client, 0)
		c := &copier{
			client: client, configMaps: factory.Core().V1().ConfigMaps().Lister(), secrets: factory.Core().V1().Secrets().Lister(), reconcile: reconcile,
			queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
		}
		enqueue := func(obj any) {
			if key, err := clientcache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
				c.queue.Add(key)
			}
		}
		handler := clientcache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }, DeleteFunc: enqueue}
		for _, informer := range []clientcache.SharedIndexInformer{factory.Core().V1().ConfigMaps().Informer(), factory.Core().V1().Secrets().Informer()} {
			if _, err := informer.AddEventHandler(handler); err != nil {
				return err
			}
		}
		factory.Start(ctx.Done())
		defer factory.Shutdown()
		factory.WaitForCacheSync(ctx.Done())
		stop := context.AfterFunc(ctx, c.queue.ShutDown)
		defer stop()
		for c.next(ctx) {
		}
		return nil
	}
}

func (c *copier) next(ctx context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	if err := c.reconcile(ctx, c, key); err != nil {
		c.queue.AddRateLimited(key)
		return true
	}
	c.queue.Forget(key)
	return true
}

func copyConfigMap(ctx context.Context, c *copier, key string) error {
	namespace, name, _ := clientcache.SplitMetaNamespaceKey(key)
	source, err := c.configMaps.ConfigMaps(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		if _, err := c.secrets.Secrets(namespace).Get(name); apierrors.IsNotFound(err) {
			return nil
		}
		return c.client.CoreV1().Secrets(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	}
	if source.Labels["copy"] == "" {
		return nil
	}
	want := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: source.Data}
	want.Data = map[string][]byte{}
	for k, v := range source.Data {
		want.Data[k] = []byte(v)
	}
	want.StringData = nil
	current, err := c.secrets.Secrets(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		_, err = c.client.CoreV1().Secrets(namespace).Create(ctx, want, metav1.CreateOptions{})
		return err
	}
	if fmt.Sprint(current.Data) == fmt.Sprint(want.Data) {
		return nil
	}
	changed := current.DeepCopy()
	changed.Data = want.Data
	_, err = c.client.CoreV1().Secrets(namespace).Update(ctx, changed, metav1.UpdateOptions{})
	return err
}

// createUnlessCached creates a Secret with a generated name for a ConfigMap if its cache has none.
func createUnlessCached(ctx context.Context, c *copier, key string) error {
	namespace, name, _ := clientcache.SplitMetaNamespaceKey(key)
	source, err := c.configMaps.ConfigMaps(namespace).Get(name)
	if err != nil || source.Labels["copy"] == "" {
		return nil
	}
	secrets, err := c.secrets.Secrets(namespace).List(labels.SelectorFromSet(labels.Set{"source": name}))
	if err != nil || len(secrets) > 0 {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: name + "-", Labels: map[string]string{"source": name}}}
	_, err = c.client.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{})
	return err
}

// writeAlways writes the time into each ConfigMap, again and again.
func writeAlways(ctx context.Context, c *copier, key string) error {
	namespace, name, _ := clientcache.SplitMetaNamespaceKey(key)
	source, err := c.configMaps.ConfigMaps(namespace).Get(name)
	if err != nil || source.Labels["copy"] == "" {
		return nil
	}
	changed := source.DeepCopy()
	changed.Annotations = map[string]string{"checked": time.Now().String()}
	if _, err := c.client.CoreV1().ConfigMaps(namespace).Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
		return err
	}
	return errors.New("again")
}

// toggleUntilSeen patches a ConfigMap, and creates and deletes a Secret until its cache has the
// patch.
func toggleUntilSeen(ctx context.Context, c *copier, key string) error {
	namespace, name, _ := clientcache.SplitMetaNamespaceKey(key)
	source, err := c.configMaps.ConfigMaps(namespace).Get(name)
	if err != nil {
		return nil
	}
	secrets := c.client.CoreV1().Secrets(namespace)
	_, err = secrets.Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		return secrets.Delete(ctx, name, metav1.DeleteOptions{})
	}
	if source.Annotations["seen"] != "" {
		return nil
	}
	if _, err := c.client.CoreV1().ConfigMaps(namespace).Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"seen":"yes"}}}`), metav1.PatchOptions{}); err != nil {
		return err
	}
	_, err = secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, metav1.CreateOptions{})
	return err
}

type reconcileFunc func(context.Context, *copier, string) error

// writeFirst writes the key that it receives first, of a ConfigMap or of a Secret.
func writeFirst(ctx context.Context, c *copier, key string) error {
	first := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "first"}, Data: map[string]string{"key": key}}
	_, err := c.client.CoreV1().ConfigMaps("default").Create(ctx, first, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// stampEvery returns a program that writes the time into a ConfigMap, again and again.
func stampEvery(period time.Duration) func(context.Context, *rest.Config) error {
	return withClient(func(ctx context.Context, client kubernetes.Interface) error {
		for {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"checked":%q}}}`, time.Now())
			if _, err := client.CoreV1().ConfigMaps("default").Patch(ctx, "a", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil && ctx.Err() == nil {
				return err
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(period):
			}
		}
	})
}
