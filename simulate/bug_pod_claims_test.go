// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// claimCleaner keeps a StatefulSet, and deletes the claims of its Pods when they are deleted.
//
// The bugs: it looks for Pods with a deletionTimestamp. If it sees no such state of a Pod, the
// claim stays for ever. And if it sees one that is stale, of a Pod that has been replaced, it
// deletes the claim of the new Pod. The mended one deletes the claims that no replica of the
// StatefulSet has, as it is stored, once their Pods are gone: else a Pod that is still there when
// the StatefulSet is scaled up again stays without its claim.
type claimCleaner struct {
	*operator
	sets   appslisters.StatefulSetNamespaceLister
	pods   corelisters.PodNamespaceLister
	claims corelisters.PersistentVolumeClaimNamespaceLister
	mended bool
}

func claimsOfPods(mended bool, steps func(*simulate.World)) simulate.Test {
	test := operatorTest(func(o *operator) syncFunc {
		c := claimCleaner{
			operator: o, mended: mended,
			sets:   watch(o, o.informers.Apps().V1().StatefulSets()).Lister().StatefulSets(namespace),
			pods:   watch(o, o.informers.Core().V1().Pods()).Lister().Pods(namespace),
			claims: watch(o, o.informers.Core().V1().PersistentVolumeClaims()).Lister().PersistentVolumeClaims(namespace),
		}
		return ifPresent(c.sync)
	})
	test.Cluster = simulate.Workloads()
	test.Objects = []fake.Object{sized(2)}
	test.Steps = steps
	return test
}

// missedDeletion is a Cluster that is scaled down.
func missedDeletion(mended bool) simulate.Test {
	return claimsOfPods(mended, func(w *simulate.World) { w.Update(sized(1)) })
}

// staleDeletion is a Cluster that is scaled down and up.
func staleDeletion(mended bool) simulate.Test {
	return claimsOfPods(mended, func(w *simulate.World) {
		w.Update(sized(1))
		w.Sleep(5 * time.Second)
		w.Update(sized(2))
	})
}

func (c claimCleaner) sync(ctx context.Context, cluster *unstructured.Unstructured) error {
	replicas := number(cluster, "spec", "replicas")
	set, err := c.sets.Get(clusterName)
	if apierrors.IsNotFound(err) {
		_, err := c.AppsV1().StatefulSets(namespace).Create(ctx, newStatefulSet(replicas, resource.MustParse("1Gi")), metav1.CreateOptions{})
		return ignoring(apierrors.IsAlreadyExists, err)
	}
	if err != nil {
		return err
	}
	if int64(*set.Spec.Replicas) != replicas {
		if err := c.scale(ctx, set, replicas); err != nil {
			return err
		}
	}
	if c.mended {
		return c.deleteUnused(ctx)
	}
	return c.deleteOfDeletedPods(ctx)
}

func (c claimCleaner) deleteOfDeletedPods(ctx context.Context) error {
	pods, err := c.pods.List(labels.Everything())
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil {
			continue
		}
		err := c.CoreV1().PersistentVolumeClaims(namespace).Delete(ctx, "data-"+pod.Name, metav1.DeleteOptions{})
		if ignoring(apierrors.IsNotFound, err) != nil {
			return err
		}
	}
	return nil
}

// deleteUnused deletes the claims that no Pod of the StatefulSet has or will have.
func (c claimCleaner) deleteUnused(ctx context.Context) error {
	claims, err := c.claims.List(labels.Everything())
	if err != nil {
		return err
	}
	set, err := c.AppsV1().StatefulSets(namespace).Get(ctx, clusterName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, claim := range claims {
		i, ok := ordinalOf("data-"+clusterName, claim.Name)
		if !ok || i < int64(*set.Spec.Replicas) {
			continue
		}
		_, err := c.CoreV1().Pods(namespace).Get(ctx, ordinal(clusterName, i), metav1.GetOptions{})
		if err == nil {
			continue // the event of its deletion comes
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &claim.UID}}
		if err := c.CoreV1().PersistentVolumeClaims(namespace).Delete(ctx, claim.Name, options); ignoring(isReplaced, err) != nil {
			return err
		}
	}
	return nil
}
