// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

const you = "you"

// scenario creates a ReplicaSet, scales it, and deletes it.
type scenario struct {
	client    kubernetes.Interface
	namespace string
	timeline  *timeline
	timeout   time.Duration // of each step
}

// run runs the scenario. It returns an error if the Pods do not follow in time.
func (s *scenario) run(ctx context.Context) error {
	labels := map[string]string{"app": "web"}
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web-"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.k8s.io/pause:3.10"}}},
			},
		},
	}
	set, err := s.client.AppsV1().ReplicaSets(s.namespace).Create(ctx, set, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	s.timeline.did(you, "create ReplicaSet %s with 2 replicas", set.Name)
	if err := s.await(ctx, set, 2); err != nil {
		return err
	}
	for _, replicas := range []int{3, 1} {
		if err := s.scale(ctx, set, replicas); err != nil {
			return err
		}
	}
	if err := s.client.AppsV1().ReplicaSets(s.namespace).Delete(ctx, set.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	s.timeline.did(you, "delete ReplicaSet %s", set.Name)
	return s.await(ctx, set, 0)
}

func (s *scenario) scale(ctx context.Context, set *appsv1.ReplicaSet, replicas int) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if _, err := s.client.AppsV1().ReplicaSets(s.namespace).Patch(ctx, set.Name, "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	s.timeline.did(you, "scale ReplicaSet %s to %d", set.Name, replicas)
	return s.await(ctx, set, replicas)
}

// await blocks until the ReplicaSet has exactly this number of Pods, all running.
func (s *scenario) await(ctx context.Context, set *appsv1.ReplicaSet, want int) error {
	var running, all int
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, s.timeout, true, func(ctx context.Context) (bool, error) {
		pods, err := s.client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(set.Spec.Selector)})
		if err != nil {
			return false, err
		}
		running, all = 0, len(pods.Items)
		for _, pod := range pods.Items {
			if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
				running++
			}
		}
		return running == want && all == want, nil
	})
	if err != nil {
		return fmt.Errorf("%d of %d Pods of ReplicaSet %s are running, want %d: %w", running, all, set.Name, want, err)
	}
	s.timeline.print(you, "see ", fmt.Sprintf("running Pods: %d", want))
	return nil
}
