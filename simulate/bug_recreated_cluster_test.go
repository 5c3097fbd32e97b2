// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"

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

// terminator keeps a StatefulSet. When the Cluster is deleted, it deletes the claims, and removes
// its finalizer.
//
// The bug: it deletes by name. If it starts with an old state, in which a Cluster of the same name
// is being deleted, it deletes the claims of the Cluster that exists. The mended one deletes the
// claims by UID, and reads the Cluster again after it has read the claims. It does the same for a
// Cluster that is gone, for which it may have created a StatefulSet.
type terminator struct {
	*operator
	sets   appslisters.StatefulSetNamespaceLister
	claims corelisters.PersistentVolumeClaimNamespaceLister
	mended bool
}

const terminatorFinalizer = "example.com/claims"

func recreatedCluster(mended bool) simulate.Test {
	test := operatorTest(func(o *operator) syncFunc {
		t := terminator{
			operator: o, mended: mended,
			sets:   watch(o, o.informers.Apps().V1().StatefulSets()).Lister().StatefulSets(namespace),
			claims: watch(o, o.informers.Core().V1().PersistentVolumeClaims()).Lister().PersistentVolumeClaims(namespace),
		}
		return t.sync
	})
	cluster := newCluster(map[string]any{"replicas": int64(1)}, terminatorFinalizer)
	test.Cluster = simulate.Workloads()
	test.Objects = []fake.Object{cluster}
	test.Steps = func(w *simulate.World) {
		w.Delete(cluster)
		w.Settle()
		w.Create(cluster)
	}
	test.Disturb = restarts(mended)
	return test
}

func (t terminator) sync(ctx context.Context, cluster *unstructured.Unstructured) error {
	switch {
	case cluster == nil && !t.mended:
		return nil
	case cluster == nil || cluster.GetDeletionTimestamp() != nil:
		return t.terminate(ctx, cluster)
	}
	_, err := t.sets.Get(clusterName)
	if apierrors.IsNotFound(err) {
		set := newStatefulSet(number(cluster, "spec", "replicas"), resource.MustParse("1Gi"))
		set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cluster, cluster.GroupVersionKind())}
		_, err = t.AppsV1().StatefulSets(namespace).Create(ctx, set, metav1.CreateOptions{})
		return ignoring(apierrors.IsAlreadyExists, err)
	}
	if err != nil {
		return err
	}
	claims, err := t.claims.List(labels.Everything())
	if n := int64(len(claims)); err == nil && number(cluster, "status", "claims") != n {
		err = t.updateStatus(ctx, map[string]any{"claims": n})
	}
	return err
}

// terminate deletes the claims, and removes the finalizer. The StatefulSet is garbage.
func (t terminator) terminate(ctx context.Context, cluster *unstructured.Unstructured) error {
	claims, err := t.CoreV1().PersistentVolumeClaims(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if t.mended {
		cluster, err = t.stored(ctx)
		if err != nil || cluster != nil && cluster.GetDeletionTimestamp() == nil {
			return err
		}
	}
	for _, claim := range claims.Items {
		options := metav1.DeleteOptions{}
		if t.mended {
			options.Preconditions = &metav1.Preconditions{UID: &claim.UID}
		}
		err := t.CoreV1().PersistentVolumeClaims(namespace).Delete(ctx, claim.Name, options)
		if ignoring(isReplaced, err) != nil {
			return err
		}
	}
	if cluster == nil {
		return nil
	}
	changed := cluster.DeepCopy()
	changed.SetFinalizers(nil)
	_, err = t.dynamic.Resource(clusterResource).Namespace(namespace).Update(ctx, changed, metav1.UpdateOptions{})
	return ignoring(apierrors.IsNotFound, err)
}
