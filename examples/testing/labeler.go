// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package testing

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"

	"github.com/kinformer/kinformer/cache"
)

// NodeLabel is the label of a Pod with the name of its node.
const NodeLabel = "example.com/node"

// writeTimeout is how long the Labeler waits until the informer has seen a write.
const writeTimeout = 30 * time.Second

// Labeler labels each Pod with the name of its node.
type Labeler struct {
	client kubernetes.Interface
	pods   *cache.SharedInformer[*corev1.Pod]
	queue  workqueue.TypedRateLimitingInterface[string]
}

// NewLabeler returns a Labeler that is not running.
func NewLabeler(client kubernetes.Interface) (*Labeler, error) {
	l := &Labeler{
		client: client,
		pods:   cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods("")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{}),
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	_, err := l.pods.AddKeyHandler(func(event cache.KeyEvent) { l.queue.Add(event.Key) }, cache.HandlerOptions{})
	return l, err
}

// Run labels Pods until ctx ends or the informer fails.
func (l *Labeler) Run(ctx context.Context) error {
	return cache.RunAll(ctx, l.pods.Run, l.work)
}

// Status returns the status of the informer.
func (l *Labeler) Status() cache.Status { return l.pods.Status() }

// work labels one Pod at a time. RunAll ends ctx if the informer fails.
func (l *Labeler) work(ctx context.Context) error {
	context.AfterFunc(ctx, l.queue.ShutDown)
	for {
		key, shutDown := l.queue.Get()
		if shutDown {
			return nil
		}
		if err := l.label(ctx, key); err != nil && ctx.Err() == nil {
			l.queue.AddRateLimited(key)
		} else {
			l.queue.Forget(key)
		}
		l.queue.Done(key)
	}
}

// label labels a Pod, and waits until the informer has seen it. The wait has a timeout, as a
// restore of etcd may undo the write; the Pod is processed again then.
func (l *Labeler) label(ctx context.Context, key string) error {
	pod, exists := l.pods.Store().GetByKey(key)
	if !exists || pod.Spec.NodeName == "" || pod.Labels[NodeLabel] == pod.Spec.NodeName {
		return nil
	}
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"labels":{%q:%q}}}`, pod.UID, NodeLabel, pod.Spec.NodeName)
	labeled, err := l.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it is gone, or another one has its name
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return l.pods.WaitForObject(ctx, labeled)
}
