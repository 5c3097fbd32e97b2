// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// reporter copies the size of the Cluster into its status.
//
// The bug: it keeps the Cluster that it has received first, and writes that one. After a change of
// the Cluster, each write is answered with a conflict, in each run. The mended one writes the
// Cluster of its cache.
type reporter struct {
	*operator
	kept   *unstructured.Unstructured
	mended bool
}

func staleCopy(mended bool) simulate.Test {
	test := operatorTest(func(o *operator) syncFunc {
		r := &reporter{operator: o, mended: mended}
		return ifPresent(r.sync)
	})
	test.Objects = []fake.Object{sized(1)}
	test.Steps = func(w *simulate.World) { w.Update(sized(2)) }
	return test
}

func (r *reporter) sync(ctx context.Context, cluster *unstructured.Unstructured) error {
	size := number(cluster, "spec", "replicas")
	if number(cluster, "status", "replicas") == size {
		return nil
	}
	if r.kept == nil || r.mended {
		r.kept = cluster
	}
	changed := r.kept.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, size, "status", "replicas"); err != nil {
		return err
	}
	_, err := r.dynamic.Resource(clusterResource).Namespace(namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}
