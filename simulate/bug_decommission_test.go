// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// decommissioner keeps a StatefulSet of database nodes. To scale down, it first tells the last node
// to leave the database, which cannot be undone, and then removes its Pod. A label of the Pod
// stands for what the node would answer.
//
// The bug: it removes the Pod only as long as there are too many. If the Cluster is scaled up
// before it has seen that the node has left, the Pod stays for ever, without being a part of the
// database. The mended one removes each Pod that has left.
type decommissioner struct {
	*operator
	sets   appslisters.StatefulSetNamespaceLister
	pods   corelisters.PodNamespaceLister
	mended bool
}

const leftLabel = "left"

func decommission(mended bool) simulate.Test {
	test := operatorTest(func(o *operator) syncFunc {
		d := decommissioner{
			operator: o, mended: mended,
			sets: watch(o, o.informers.Apps().V1().StatefulSets()).Lister().StatefulSets(namespace),
			pods: watch(o, o.informers.Core().V1().Pods()).Lister().Pods(namespace),
		}
		return ifPresent(d.sync)
	})
	test.Cluster = simulate.Workloads()
	test.Objects = []fake.Object{sized(3)}
	test.Steps = func(w *simulate.World) {
		w.Update(sized(2))
		w.Sleep(5 * time.Second)
		w.Update(sized(3))
	}
	return test
}

func (d decommissioner) sync(ctx context.Context, cluster *unstructured.Unstructured) error {
	replicas := number(cluster, "spec", "replicas")
	set, err := d.sets.Get(clusterName)
	if apierrors.IsNotFound(err) {
		_, err := d.AppsV1().StatefulSets(namespace).Create(ctx, newStatefulSet(replicas, resource.MustParse("1Gi")), metav1.CreateOptions{})
		return ignoring(apierrors.IsAlreadyExists, err)
	}
	if err != nil {
		return err
	}
	current := int64(*set.Spec.Replicas)
	if replicas > current {
		return d.scale(ctx, set, replicas)
	}
	last, err := d.pod(ctx, ordinal(clusterName, current-1))
	if err != nil || replicas == current && !d.mended {
		return ignoring(apierrors.IsNotFound, err) // the event of the Pod comes
	}
	switch hasLeft := last.Labels[leftLabel] != ""; {
	case hasLeft && last.DeletionTimestamp == nil:
		return d.scale(ctx, set, current-1)
	case !hasLeft && replicas < current:
		return d.leave(ctx, last)
	}
	return nil
}

// pod returns a Pod of the cache. The mended operator reads it from the API server, to remove no
// Pod that has replaced one that has left.
func (d decommissioner) pod(ctx context.Context, name string) (*corev1.Pod, error) {
	if d.mended {
		return d.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	}
	return d.pods.Get(name)
}

// leave tells a node to leave the database.
func (d decommissioner) leave(ctx context.Context, pod *corev1.Pod) error {
	changed := pod.DeepCopy()
	changed.Labels[leftLabel] = "yes"
	_, err := d.CoreV1().Pods(namespace).Update(ctx, changed, metav1.UpdateOptions{})
	return err
}
