// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
)

const controllerName = "controller"

// controller creates and deletes Pods so that each ReplicaSet has as many as it wants.
type controller struct {
	client      kubernetes.Interface
	timeline    *timeline
	replicaSets *cache.SharedInformer[*appsv1.ReplicaSet]
	pods        *cache.SharedInformer[*corev1.Pod]
	worker      *worker
	act         bool
}

func newController(client kubernetes.Interface, namespace string, t *timeline, act bool) (*controller, error) {
	c := &controller{client: client, timeline: t, act: act}
	c.replicaSets = cache.NewSharedInformer(cache.ListWatchOf(client.AppsV1().ReplicaSets(namespace)), &appsv1.ReplicaSet{}, cache.InformerOptions[*appsv1.ReplicaSet]{})
	c.pods = cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods(namespace)), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		Indexers: cache.Indexers[*corev1.Pod]{"owner": cache.ByMetadata[*corev1.Pod](ownerOf)},
	})
	c.worker = newWorker(controllerName, c.reconcile, c.replicaSets, c.pods)
	_, err := c.replicaSets.AddEventHandler(cache.EventHandlerFunc[*appsv1.ReplicaSet](c.onReplicaSet), cache.HandlerOptions{Name: controllerName})
	if err != nil {
		return nil, err
	}
	_, err = c.pods.AddEventHandler(cache.EventHandlerFunc[*corev1.Pod](c.onPod), cache.HandlerOptions{Name: controllerName})
	return c, err
}

// Run runs the controller until ctx ends.
func (c *controller) Run(ctx context.Context) error {
	return cache.RunAll(ctx, c.replicaSets, c.pods, c.worker)
}

// ownerOf returns the UID of the controller of an object, for an index.
func ownerOf(object cache.Metadata) ([]string, error) {
	for _, owner := range object.GetOwnerReferences() {
		if owner.Controller != nil && *owner.Controller {
			return []string{string(owner.UID)}, nil
		}
	}
	return nil, nil
}

func (c *controller) onReplicaSet(event cache.Event[*appsv1.ReplicaSet]) {
	set := event.Object()
	switch {
	case event.Type == cache.EventDelete:
		c.timeline.saw(controllerName, "replicasets", event.InInitialList, "ReplicaSet %s gone", set.Name)
		c.deleteOrphans(set.UID)
	case event.Type == cache.EventAdd || *event.Old.Spec.Replicas != *set.Spec.Replicas:
		c.timeline.saw(controllerName, "replicasets", event.InInitialList, "ReplicaSet %s with %d replicas", set.Name, *set.Spec.Replicas)
	}
	c.worker.queue.Add(event.Key)
}

func (c *controller) onPod(event cache.Event[*corev1.Pod]) {
	owner := metav1.GetControllerOf(event.Object())
	if owner == nil || owner.Kind != "ReplicaSet" {
		return
	}
	c.timeline.sawPod(controllerName, "pods", event)
	c.worker.queue.Add(event.Object().Namespace + "/" + owner.Name)
}

// reconcile creates the Pods that a ReplicaSet lacks, or deletes those that are too many.
func (c *controller) reconcile(ctx context.Context, key string) error {
	set, exists := c.replicaSets.Store().GetByKey(key)
	if !exists || !c.act {
		return nil
	}
	pods, err := c.pods.Store().ByIndex("owner", string(set.UID))
	if err != nil {
		return err
	}
	pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	for n := len(pods); n < int(*set.Spec.Replicas); n++ {
		if err := c.createPod(ctx, set); err != nil {
			return err
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, pod := range pods[min(int(*set.Spec.Replicas), len(pods)):] {
		if err := c.deletePod(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

// createPod creates a Pod and waits until the informer has it. Without that, the next call would
// count too few Pods and create another one.
func (c *controller) createPod(ctx context.Context, set *appsv1.ReplicaSet) error {
	pod, err := c.client.CoreV1().Pods(set.Namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName:    set.Name + "-",
			Labels:          set.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
		},
		Spec: set.Spec.Template.Spec,
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	c.timeline.did(controllerName, "create Pod %s", pod.Name)
	return c.pods.WaitForObject(ctx, pod)
}

func (c *controller) deletePod(ctx context.Context, pod *corev1.Pod) error {
	options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
	switch err := c.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options); {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return nil // it is gone, or another one has its name
	case err != nil:
		return err
	}
	c.timeline.did(controllerName, "delete Pod %s", pod.Name)
	return nil
}

// deleteOrphans deletes the Pods of a ReplicaSet that is gone, which in a cluster is the work of the
// garbage collector.
func (c *controller) deleteOrphans(owner types.UID) {
	pods, _ := c.pods.Store().ByIndex("owner", string(owner))
	for _, pod := range pods {
		if c.act && pod.DeletionTimestamp == nil {
			_ = c.deletePod(context.Background(), pod)
		}
	}
}
