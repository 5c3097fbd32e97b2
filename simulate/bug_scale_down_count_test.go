// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// shrinker keeps as many Pods as the Cluster wants. Of too many, it deletes the last one that it
// has not deleted yet, one at a time.
//
// The bug: it counts the Pods of its cache, those that it has deleted among them. If anything makes
// it reconcile before it receives a deletion, it deletes one more, which it creates again later.
// The mended one does not count what it has deleted.
type shrinker struct {
	*operator
	pods    corelisters.PodNamespaceLister
	deleted map[types.UID]bool
	mended  bool
}

func scaleDownCount(mended bool) simulate.Test {
	test := operatorTest(func(o *operator) syncFunc {
		pods := o.informers.Core().V1().Pods()
		if _, err := pods.Informer().AddEventHandler(clientcache.ResourceEventHandlerFuncs{DeleteFunc: o.handler.OnDelete}); err != nil {
			panic(err) // a new informer has not stopped
		}
		s := shrinker{operator: o, mended: mended, deleted: map[types.UID]bool{}, pods: pods.Lister().Pods(namespace)}
		return ifPresent(s.sync)
	})
	test.Objects = []fake.Object{sized(3)}
	test.Steps = func(w *simulate.World) { w.Update(sized(2)) }
	test.Invariants = []func(simulate.Write) error{twoPodsAreKept}
	return test
}

// twoPodsAreKept is an invariant: no write deletes one of the last two Pods.
func twoPodsAreKept(w simulate.Write) error {
	if pods := len(simulate.All[*corev1.Pod](w.After)); w.Err == nil && w.Verb == "delete" && pods < 2 {
		return fmt.Errorf("%d Pods are left", pods)
	}
	return nil
}

func (s shrinker) sync(ctx context.Context, cluster *unstructured.Unstructured) error {
	replicas := number(cluster, "spec", "replicas")
	for i := range replicas {
		_, err := s.pods.Get(ordinal(clusterName, i))
		if apierrors.IsNotFound(err) {
			_, err = s.CoreV1().Pods(namespace).Create(ctx, newPod(ordinal(clusterName, i)), metav1.CreateOptions{})
		}
		if ignoring(apierrors.IsAlreadyExists, err) != nil {
			return err
		}
	}
	pods, err := s.pods.List(labels.Everything())
	if err != nil {
		return err
	}
	count, last := int64(0), (*corev1.Pod)(nil)
	for _, pod := range pods {
		isDeleted := s.deleted[pod.UID]
		if pod.DeletionTimestamp == nil && !(isDeleted && s.mended) {
			count++
		}
		if !isDeleted && (last == nil || pod.Name > last.Name) {
			last = pod
		}
	}
	if count <= replicas {
		return nil
	}
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &last.UID}}
	if err := s.CoreV1().Pods(namespace).Delete(ctx, last.Name, options); ignoring(isReplaced, err) != nil {
		return err
	}
	s.deleted[last.UID] = true
	return nil
}
