// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/e2e/objects"
)

const seed = 12

// kubelets acts as the kubelets of a namespace's Pods: bound Pods run, Pods of Jobs succeed, and
// terminating Pods are removed.
type kubelets struct {
	client    kubernetes.Interface
	life      *objects.Life
	namespace string
}

// startKubelets runs kubelets until the end of the test.
func startKubelets(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	k := &kubelets{client, objects.NewLife(client, seed), namespace}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for ctx.Err() == nil {
			if err := k.syncAll(ctx); err != nil && ctx.Err() == nil && !utilnet.IsConnectionRefused(err) {
				t.Logf("kubelets: %v", err) // if it matters, a wait for Pods fails
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// syncAll performs the next step of each Pod.
func (k *kubelets) syncAll(ctx context.Context) error {
	pods, err := k.client.CoreV1().Pods(k.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		if err := k.sync(ctx, &pods.Items[i]); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

func (k *kubelets) sync(ctx context.Context, pod *corev1.Pod) error {
	owner := metav1.GetControllerOf(pod)
	switch {
	case pod.DeletionTimestamp != nil:
		return k.remove(ctx, pod)
	case pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending:
		_, err := k.life.ReportRunning(ctx, pod)
		return err
	case owner != nil && owner.Kind == "Job" && pod.Status.Phase == corev1.PodRunning:
		pod.Status.Phase = corev1.PodSucceeded
		_, err := k.client.CoreV1().Pods(k.namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		return err
	default:
		return nil
	}
}

// remove removes a Pod that has no finalizer.
func (k *kubelets) remove(ctx context.Context, pod *corev1.Pod) error {
	if len(pod.Finalizers) > 0 {
		return nil
	}
	return errors.Unwrap(k.life.Delete(ctx, pod))
}

// createNodes creates Nodes to which Pods can be bound.
func createNodes(t *testing.T, client kubernetes.Interface, nodes int) {
	t.Helper()
	life := objects.NewLife(client, seed)
	for i := range nodes {
		node := objects.NewNode(seed, i)
		if _, err := life.Join(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		// Admission taints each new Node, and no controller removes the taint here.
		await(t, fmt.Sprintf("%s is untainted", node.Name), func(ctx context.Context) error {
			current, err := client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			current.Spec.Taints = nil
			_, err = client.CoreV1().Nodes().Update(ctx, current, metav1.UpdateOptions{})
			return err
		})
	}
}
