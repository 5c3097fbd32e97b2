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

// owner is a ReplicaSet that Pods refer to, which may be gone. Another one may have its key since.
type owner struct {
	namespace, name string
	uid             types.UID
}

// String returns the key of the ReplicaSet.
func (o owner) String() string { return o.namespace + "/" + o.name }

// controller creates and deletes Pods so that each ReplicaSet has as many as it wants. It also
// deletes those whose ReplicaSet is gone, which in a cluster is the work of the garbage collector.
type controller struct {
	client      kubernetes.Interface
	timeline    *timeline
	replicaSets *cache.SharedInformer[*appsv1.ReplicaSet]
	pods        *cache.SharedInformer[*corev1.Pod]
	worker      *worker[owner]
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
func (c *controller) Run(ctx context.Context) error { return c.worker.Run(ctx) }

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
	case event.Type == cache.EventAdd || *event.Old.Spec.Replicas != *set.Spec.Replicas:
		c.timeline.saw(controllerName, "replicasets", event.InInitialList, "ReplicaSet %s with %d replicas", set.Name, *set.Spec.Replicas)
	}
	c.worker.queue.Add(owner{set.Namespace, set.Name, set.UID})
}

func (c *controller) onPod(event cache.Event[*corev1.Pod]) {
	reference := metav1.GetControllerOf(event.Object())
	if reference == nil || reference.Kind != "ReplicaSet" {
		return
	}
	c.timeline.sawPod(controllerName, "pods", event)
	c.worker.queue.Add(owner{event.Object().Namespace, reference.Name, reference.UID})
}

// reconcile creates the Pods that a ReplicaSet lacks, or deletes those that are too many: all, if
// the ReplicaSet is gone.
func (c *controller) reconcile(ctx context.Context, of owner) error {
	if !c.act {
		return nil
	}
	pods, err := c.pods.Store().ByIndex("owner", string(of.uid))
	if err != nil {
		return err
	}
	pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	set, exists := c.replicaSets.Store().GetByKey(of.String())
	if !exists || set.UID != of.uid {
		return c.deleteOrphans(ctx, of, pods)
	}
	for n := len(pods); n < int(*set.Spec.Replicas); n++ {
		if err := c.createPod(ctx, set); err != nil {
			return err
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return c.deletePods(ctx, pods[min(int(*set.Spec.Replicas), len(pods)):])
}

// deleteOrphans deletes the Pods of a ReplicaSet that the informer does not have. It asks the
// server first, as the watch of Pods may be ahead of that of ReplicaSets.
func (c *controller) deleteOrphans(ctx context.Context, of owner, pods []*corev1.Pod) error {
	if len(pods) == 0 {
		return nil
	}
	set, err := c.client.AppsV1().ReplicaSets(of.namespace).Get(ctx, of.name, metav1.GetOptions{})
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return err
	case err == nil && set.UID == of.uid:
		return nil // its event follows
	}
	return c.deletePods(ctx, pods)
}

// createPod creates a Pod and waits until the informer has it. Without that, the next call would
// count too few Pods and create another one. If the wait fails, that may happen: a Pod too many is
// deleted once the informer has it.
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

func (c *controller) deletePods(ctx context.Context, pods []*corev1.Pod) error {
	for _, pod := range pods {
		if err := c.deletePod(ctx, pod); err != nil {
			return err
		}
	}
	return nil
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
