// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// The field managers of the components.
const (
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	kubelet           = "kubelet"
	networkPlugin     = "multus"
)

// Life performs the steps of objects' life cycles on an API server. Each method performs the steps
// of one or several components, in order, with one request per step. It is safe for concurrent use.
type Life struct {
	client kubernetes.Interface
	seed   uint64
	now    func() time.Time
}

// NewLife returns a Life on client's server. The values that it generates depend on seed.
func NewLife(client kubernetes.Interface, seed uint64) *Life {
	return &Life{client: client, seed: seed, now: time.Now}
}

// Join registers a Node and reports it ready: 2 requests.
func (l *Life) Join(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	created, err := l.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{FieldManager: kubelet})
	if err != nil {
		return nil, fmt.Errorf("create Node %s: %w", node.Name, err)
	}
	return l.Report(ctx, created, true)
}

// Report patches the status of a Node, as its kubelet does for a heartbeat.
func (l *Life) Report(ctx context.Context, node *corev1.Node, ready bool) (*corev1.Node, error) {
	patch, err := json.Marshal(map[string]any{"status": NodeStatus(l.seed, node, ready, l.now())})
	if err != nil {
		return nil, fmt.Errorf("encode the status of Node %s: %w", node.Name, err)
	}
	reported, err := l.client.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{FieldManager: kubelet}, "status")
	if err != nil {
		return nil, fmt.Errorf("patch the status of Node %s: %w", node.Name, err)
	}
	return reported, nil
}

// Run creates a Pod, binds it to a node, annotates it, and reports it running: 4 requests, which a
// watch delivers as one ADDED and three MODIFIED events. The node need not exist.
func (l *Life) Run(ctx context.Context, pod *corev1.Pod, node string) (*corev1.Pod, error) {
	created, err := l.Create(ctx, pod)
	if err != nil {
		return nil, err
	}
	if err := l.Bind(ctx, created, node); err != nil {
		return nil, err
	}
	if _, err := l.Annotate(ctx, created, "k8s.v1.cni.cncf.io/network-status", `[{"name": "cbr0", "default": true}]`); err != nil {
		return nil, err
	}
	return l.ReportRunning(ctx, created)
}

// Create creates a Pod, as the ReplicaSet controller does.
func (l *Life) Create(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	created, err := l.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{FieldManager: controllerManager})
	if err != nil {
		return nil, fmt.Errorf("create Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return created, nil
}

// Bind binds a Pod to a node, as the scheduler does.
func (l *Life) Bind(ctx context.Context, pod *corev1.Pod, node string) error {
	err := l.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{FieldManager: scheduler})
	if err != nil {
		return fmt.Errorf("bind Pod %s/%s to Node %s: %w", pod.Namespace, pod.Name, node, err)
	}
	return nil
}

// Annotate sets an annotation of a Pod, as a network plugin does. It changes nothing else.
func (l *Life) Annotate(ctx context.Context, pod *corev1.Pod, key, value string) (*corev1.Pod, error) {
	return l.patch(ctx, pod, networkPlugin, map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}})
}

// ReportRunning patches the status of a Pod to running, as the kubelet does.
func (l *Life) ReportRunning(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	status := RunningStatus(l.seed, pod, l.now())
	return l.patch(ctx, pod, kubelet, map[string]any{"status": status}, "status")
}

// Delete deletes a Pod without grace period, as the kubelet does when its containers have ended. A
// watch delivers a MODIFIED event that sets deletionTimestamp, then DELETED.
func (l *Life) Delete(ctx context.Context, pod *corev1.Pod) error {
	err := l.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	if err != nil {
		return fmt.Errorf("delete Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// patch sends a strategic merge patch, as the kubelet does, which needs no resourceVersion.
func (l *Life) patch(ctx context.Context, pod *corev1.Pod, manager string, content any, subresources ...string) (*corev1.Pod, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode a patch of Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	patched, err := l.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, body,
		metav1.PatchOptions{FieldManager: manager}, subresources...)
	if err != nil {
		return nil, fmt.Errorf("patch Pod %s/%s as %s: %w", pod.Namespace, pod.Name, manager, err)
	}
	return patched, nil
}
