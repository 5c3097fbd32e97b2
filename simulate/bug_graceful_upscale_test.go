// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// upscaler keeps a Pod for each node, and its state in the status: required, running when the Pod
// is created, succeeded when it is ready. It deletes only Pods in the last state.
//
// The bug: it advances the states of the nodes in the spec only. If a node is removed from the spec
// before the operator has seen that its Pod is ready, the Pod stays for ever. The mended one
// advances all states.
type upscaler struct {
	*operator
	pods   corelisters.PodNamespaceLister
	mended bool
}

func gracefulUpscale(mended bool) simulate.Test {
	test := operatorTest(func(o *operator) syncFunc {
		u := upscaler{operator: o, mended: mended, pods: watch(o, o.informers.Core().V1().Pods()).Lister().Pods(namespace)}
		return ifPresent(u.sync)
	})
	test.Cluster = []simulate.Actor{simulate.RunPods}
	test.Objects = []fake.Object{sized(1)}
	test.Steps = func(w *simulate.World) {
		w.Update(sized(2))
		w.Sleep(5 * time.Second)
		w.Update(sized(1))
	}
	return test
}

func (u upscaler) sync(ctx context.Context, cluster *unstructured.Unstructured) error {
	states, _, err := unstructured.NestedStringMap(cluster.Object, "status")
	if err != nil {
		return err
	}
	replicas := number(cluster, "spec", "replicas")
	for i := range replicas {
		if name := ordinal(clusterName, i); states[name] == "" {
			return u.updateStatus(ctx, map[string]any{name: "UpscaleRequired"})
		}
	}
	for name, state := range states {
		i, _ := ordinalOf(clusterName, name)
		switch inSpec := i < replicas; {
		case state != "UpscaleSucceeded" && (inSpec || u.mended):
			err = u.advance(ctx, name, state)
		case state == "UpscaleSucceeded" && !inSpec:
			err = u.remove(ctx, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// advance creates the Pod of a node, and waits until it is ready.
func (u upscaler) advance(ctx context.Context, name, state string) error {
	pod, err := u.pods.Get(name)
	switch {
	case apierrors.IsNotFound(err):
		if _, err := u.CoreV1().Pods(namespace).Create(ctx, newPod(name), metav1.CreateOptions{}); ignoring(apierrors.IsAlreadyExists, err) != nil {
			return err
		}
	case err != nil:
		return err
	case pod.Status.Phase == corev1.PodRunning:
		return u.updateStatus(ctx, map[string]any{name: "UpscaleSucceeded"})
	}
	if state == "UpscaleRequired" {
		return u.updateStatus(ctx, map[string]any{name: "UpscaleRunning"})
	}
	return nil
}

// remove deletes the Pod of a node, and its state.
func (u upscaler) remove(ctx context.Context, name string) error {
	err := u.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if ignoring(apierrors.IsNotFound, err) != nil {
		return err
	}
	return u.updateStatus(ctx, map[string]any{name: nil})
}
