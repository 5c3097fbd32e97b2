// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
)

const schedulerName = "scheduler"

var errNoNode = errors.New("there is no node yet")

// scheduler binds each Pod without a node to the node with the fewest Pods.
type scheduler struct {
	client   kubernetes.Interface
	timeline *timeline
	nodes    *cache.SharedInformer[*corev1.Node]
	pods     *cache.SharedInformer[*corev1.Pod]
	worker   *worker[string]
	act      bool
}

func newScheduler(client kubernetes.Interface, namespace string, t *timeline, act bool) (*scheduler, error) {
	s := &scheduler{client: client, timeline: t, act: act}
	s.nodes = cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Nodes()), &corev1.Node{}, cache.InformerOptions[*corev1.Node]{})
	s.pods = cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods(namespace)), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		Indexers: cache.Indexers[*corev1.Pod]{"node": cache.ByObject(func(pod *corev1.Pod) ([]string, error) { return []string{pod.Spec.NodeName}, nil })},
	})
	s.worker = newWorker(schedulerName, s.schedule, s.nodes, s.pods)
	_, err := s.pods.AddEventHandler(cache.EventHandlerFunc[*corev1.Pod](s.onPod), cache.HandlerOptions{Name: schedulerName})
	return s, err
}

// Run runs the scheduler until ctx ends.
func (s *scheduler) Run(ctx context.Context) error { return s.worker.Run(ctx) }

func (s *scheduler) onPod(event cache.Event[*corev1.Pod]) {
	s.timeline.sawPod(schedulerName, "pods", event)
	if event.Type != cache.EventDelete && event.New.Spec.NodeName == "" {
		s.worker.queue.Add(event.Key)
	}
}

// schedule binds a Pod, and waits until the informer has seen it, so that the next Pod counts it.
func (s *scheduler) schedule(ctx context.Context, key string) error {
	pod, exists := s.pods.Store().GetByKey(key)
	if !s.act || !exists || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
		return nil
	}
	nodes := s.nodes.Store().List()
	if len(nodes) == 0 {
		return errNoNode
	}
	node := slices.MinFunc(nodes, func(a, b *corev1.Node) int {
		return cmp.Or(cmp.Compare(s.podsOn(a), s.podsOn(b)), cmp.Compare(a.Name, b.Name))
	})
	err := s.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node.Name},
	}, metav1.CreateOptions{})
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return nil // it is gone, or has a node already
	case err != nil:
		return err
	}
	s.timeline.did(schedulerName, "bind Pod %s to %s", pod.Name, node.Name)
	bound, err := s.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil // it is gone already
	case err != nil:
		return err
	}
	return s.pods.WaitForObject(ctx, bound)
}

func (s *scheduler) podsOn(node *corev1.Node) int {
	keys, _ := s.pods.Store().IndexKeys("node", node.Name)
	return len(keys)
}
