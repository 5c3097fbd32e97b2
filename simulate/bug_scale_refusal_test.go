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
	appslisters "k8s.io/client-go/listers/apps/v1"

	"github.com/kinformer/kinformer/simulate"
)

// refuser keeps a StatefulSet, and writes its size into the status. It refuses to scale down.
//
// The bug: it compares with the StatefulSet, so that the result depends on which states of the
// Cluster it has seen. After one, three and two replicas there are three, or two if it has not seen
// the three. The mended one follows the spec. A rule about changes belongs into the validation of
// the custom resource.
type refuser struct {
	*operator
	sets   appslisters.StatefulSetNamespaceLister
	mended bool
}

func scaleRefusal(mended bool) simulate.Test {
	test := operatorTest(func(o *operator) syncFunc {
		r := refuser{operator: o, mended: mended, sets: watch(o, o.informers.Apps().V1().StatefulSets()).Lister().StatefulSets(namespace)}
		return ifPresent(r.sync)
	})
	test.Steps = func(w *simulate.World) {
		w.Create(sized(1))
		w.Sleep(time.Second)
		w.Update(sized(3))
		w.Sleep(time.Second)
		w.Update(sized(2))
	}
	return test
}

func (r refuser) sync(ctx context.Context, cluster *unstructured.Unstructured) error {
	replicas := number(cluster, "spec", "replicas")
	set, err := r.sets.Get(clusterName)
	if apierrors.IsNotFound(err) {
		_, err := r.AppsV1().StatefulSets(namespace).Create(ctx, newStatefulSet(replicas, resource.MustParse("1Gi")), metav1.CreateOptions{})
		return ignoring(apierrors.IsAlreadyExists, err)
	}
	if err != nil {
		return err
	}
	current := int64(*set.Spec.Replicas)
	if replicas > current || replicas < current && r.mended {
		return r.scale(ctx, set, replicas)
	}
	if number(cluster, "status", "replicas") != current {
		return r.updateStatus(ctx, map[string]any{"replicas": current})
	}
	return nil
}
