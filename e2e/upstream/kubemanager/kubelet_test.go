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

// kubelets play the kubelets of a namespace's Pods: those that are bound run, those of Jobs succeed, those that are deleted
// end.
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
			if err := k.look(ctx); err != nil && ctx.Err() == nil && !utilnet.IsConnectionRefused(err) {
				t.Logf("the kubelets: %v", err) // who waits for the Pods will say whether it matters
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

// look does for each Pod what has to be done.
func (k *kubelets) look(ctx context.Context) error {
	pods, err := k.client.CoreV1().Pods(k.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		if err := k.attend(ctx, &pods.Items[i]); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

func (k *kubelets) attend(ctx context.Context, pod *corev1.Pod) error {
	owner := metav1.GetControllerOf(pod)
	switch {
	case pod.DeletionTimestamp != nil:
		return k.end(ctx, pod)
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

// end removes a Pod, unless a finalizer is in the way.
func (k *kubelets) end(ctx context.Context, pod *corev1.Pod) error {
	if len(pod.Finalizers) > 0 {
		return nil
	}
	return errors.Unwrap(k.life.Delete(ctx, pod))
}

// join makes Nodes that Pods can be bound to.
func join(t *testing.T, client kubernetes.Interface, nodes int) {
	t.Helper()
	life := objects.NewLife(client, seed)
	for i := range nodes {
		node := objects.NewNode(seed, i)
		if _, err := life.Join(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		// Admission taints every new node. Who takes that away when it is ready is not here.
		await(t, fmt.Sprintf("%s has no taint", node.Name), func(ctx context.Context) error {
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
