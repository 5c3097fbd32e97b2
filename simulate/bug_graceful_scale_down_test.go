// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// scaler keeps a Pod for each node, and two fields of the status for each Pod. It deletes only Pods
// whose start it has noted in the second field.
//
// The bug: the fields are set when the Pod is created, and the second one is never set after a
// crash between the writes. The mended one sets what is missing.
type scaler struct {
	*operator
	pods   corelisters.PodNamespaceLister
	mended bool
}

func gracefulScaleDown(mended bool) simulate.Test {
	test := operatorTest(func(o *operator) syncFunc {
		s := scaler{operator: o, mended: mended, pods: watch(o, o.informers.Core().V1().Pods()).Lister().Pods(namespace)}
		return ifPresent(s.sync)
	})
	test.Objects = []fake.Object{sized(2)}
	test.Steps = func(w *simulate.World) { w.Update(sized(1)) }
	return test
}

func (s scaler) sync(ctx context.Context, cluster *unstructured.Unstructured) error {
	replicas := number(cluster, "spec", "replicas")
	for i := range replicas {
		name := ordinal(clusterName, i)
		_, err := s.pods.Get(name)
		if ignoring(apierrors.IsNotFound, err) != nil {
			return err
		}
		if err != nil {
			_, err := s.CoreV1().Pods(namespace).Create(ctx, newPod(name), metav1.CreateOptions{})
			if err != nil {
				return ignoring(apierrors.IsAlreadyExists, err)
			}
			if !s.mended {
				return s.setState(ctx, name)
			}
		} else if s.mended && text(cluster, "status", "action-"+name) == "" {
			return s.setState(ctx, name)
		}
	}
	return s.scaleDown(ctx, cluster, replicas)
}

// setState sets both fields of a Pod.
func (s scaler) setState(ctx context.Context, name string) error {
	if err := s.updateStatus(ctx, map[string]any{"config-" + name: "InSync"}); err != nil {
		return err
	}
	return s.updateStatus(ctx, map[string]any{"action-" + name: "UpscaleSucceeded"})
}

// scaleDown deletes the Pods that are too many, and then their fields.
func (s scaler) scaleDown(ctx context.Context, cluster *unstructured.Unstructured, replicas int64) error {
	state, _, err := unstructured.NestedMap(cluster.Object, "status")
	if err != nil {
		return err
	}
	for field := range state {
		name, isAction := strings.CutPrefix(field, "action-")
		if i, ok := ordinalOf(clusterName, name); !isAction || !ok || i < replicas {
			continue
		}
		if err := s.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{}); ignoring(apierrors.IsNotFound, err) != nil {
			return err
		}
		if err := s.updateStatus(ctx, map[string]any{"config-" + name: nil, "action-" + name: nil}); err != nil {
			return err
		}
	}
	return nil
}
