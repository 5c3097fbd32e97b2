// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
)

// startTime is how long a simulated container takes to start, and to stop.
const startTime = 50 * time.Millisecond

// kubelet runs the Pods of a node: it reports them as running, and removes those that terminate.
type kubelet struct {
	client   kubernetes.Interface
	timeline *timeline
	node     string
	pods     *cache.SharedInformer[*corev1.Pod]
	worker   *worker[string]
	act      bool
}

func newKubelet(client kubernetes.Interface, namespace, node string, t *timeline, act bool) (*kubelet, error) {
	k := &kubelet{client: client, node: node, timeline: t, act: act}
	ofNode := cache.WithFieldSelector(fields.OneTermEqualSelector("spec.nodeName", node))
	k.pods = cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods(namespace), ofNode), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: "Pods of " + node})
	k.worker = newWorker(node, k.sync, k.pods)
	_, err := k.pods.AddEventHandler(cache.EventHandlerFunc[*corev1.Pod](func(event cache.Event[*corev1.Pod]) {
		t.sawPod(node, "pods?spec.nodeName="+node, event)
		k.worker.queue.Add(event.Key)
	}), cache.HandlerOptions{Name: node})
	return k, err
}

// Run runs the kubelet until ctx ends.
func (k *kubelet) Run(ctx context.Context) error { return k.worker.Run(ctx) }

// sync starts or stops the containers of a Pod.
func (k *kubelet) sync(ctx context.Context, key string) error {
	pod, exists := k.pods.Store().GetByKey(key)
	switch {
	case !k.act || !exists:
		return nil
	case pod.DeletionTimestamp != nil:
		return k.remove(ctx, pod)
	case pod.Status.Phase != corev1.PodRunning:
		return k.start(ctx, pod)
	}
	return nil
}

func (k *kubelet) start(ctx context.Context, pod *corev1.Pod) error {
	if err := k.simulateContainers(ctx); err != nil {
		return err
	}
	pod = pod.DeepCopy() // objects in the store are shared
	pod.Status.Phase = corev1.PodRunning
	running, err := k.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // another event follows
	}
	if err != nil {
		return err
	}
	k.timeline.did(k.node, "report Pod %s as running", pod.Name)
	return k.pods.WaitForObject(ctx, running)
}

func (k *kubelet) remove(ctx context.Context, pod *corev1.Pod) error {
	if err := k.simulateContainers(ctx); err != nil {
		return err
	}
	options := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
	if err := k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	k.timeline.did(k.node, "remove Pod %s", pod.Name)
	return k.pods.WaitForDelete(ctx, pod)
}

func (k *kubelet) simulateContainers(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(startTime):
		return nil
	}
}
