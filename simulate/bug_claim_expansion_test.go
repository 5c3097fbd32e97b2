// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
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

// expander keeps a StatefulSet and the size of its claims. The template of claims cannot be
// changed: to grow the claims, it deletes the StatefulSet, updates the claims, and creates the
// StatefulSet again.
//
// The bug: only the template of the existing StatefulSet tells it that claims have to grow. After a
// crash that follows the deletion, it creates the StatefulSet with the new size, and the claims
// keep the old one for ever.
type expander struct {
	*operator
	sets   appslisters.StatefulSetNamespaceLister
	claims corelisters.PersistentVolumeClaimNamespaceLister
	mended bool
}

func claimExpansion(mended bool) simulate.Test {
	test := operatorTest(func(o *operator) syncFunc {
		e := expander{
			operator: o, mended: mended,
			sets:   watch(o, o.informers.Apps().V1().StatefulSets()).Lister().StatefulSets(namespace),
			claims: watch(o, o.informers.Core().V1().PersistentVolumeClaims()).Lister().PersistentVolumeClaims(namespace),
		}
		return ifPresent(e.sync)
	})
	test.Cluster = simulate.Workloads()
	test.Objects = []fake.Object{newCluster(map[string]any{"replicas": int64(2), "storage": "10Gi"})}
	test.Steps = func(w *simulate.World) {
		w.Update(newCluster(map[string]any{"replicas": int64(2), "storage": "15Gi"}))
	}
	return test
}

func (e expander) sync(ctx context.Context, cluster *unstructured.Unstructured) error {
	size := resource.MustParse(text(cluster, "spec", "storage"))
	set, err := e.sets.Get(clusterName)
	if ignoring(apierrors.IsNotFound, err) != nil {
		return err
	}
	exists := err == nil
	mustGrow := exists && e.templateSize(set).Cmp(size) < 0
	if mustGrow {
		options := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan), Preconditions: &metav1.Preconditions{UID: &set.UID}}
		if err := e.AppsV1().StatefulSets(namespace).Delete(ctx, set.Name, options); ignoring(isReplaced, err) != nil {
			return err
		}
	}
	if mustGrow || e.mended {
		if err := e.growClaims(ctx, number(cluster, "spec", "replicas"), size); err != nil {
			return err
		}
	}
	if exists {
		return nil // the event of the deletion comes
	}
	_, err = e.AppsV1().StatefulSets(namespace).Create(ctx, newStatefulSet(number(cluster, "spec", "replicas"), size), metav1.CreateOptions{})
	return ignoring(apierrors.IsAlreadyExists, err)
}

func (e expander) templateSize(set *appsv1.StatefulSet) *resource.Quantity {
	size := sizeOf(set.Spec.VolumeClaimTemplates[0].Spec)
	return &size
}

func (e expander) growClaims(ctx context.Context, replicas int64, size resource.Quantity) error {
	for i := range replicas {
		claim, err := e.claims.Get(ordinal("data-"+clusterName, i))
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		if current := sizeOf(claim.Spec); current.Cmp(size) >= 0 {
			continue
		}
		grown := claim.DeepCopy()
		grown.Spec.Resources.Requests[corev1.ResourceStorage] = size
		if _, err := e.CoreV1().PersistentVolumeClaims(namespace).Update(ctx, grown, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}
