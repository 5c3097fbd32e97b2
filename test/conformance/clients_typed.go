// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
)

// testTypedClient creates, binds, updates and deletes Pods as users, the scheduler and the kubelet
// do.
func testTypedClient(config *rest.Config) func(*testing.T) {
	return func(t *testing.T) {
		client, namespace := clientset(t, config)
		ctx, pods := t.Context(), client.CoreV1().Pods(namespace)
		list, err := pods.List(ctx, metav1.ListOptions{})
		must(t, err)
		w, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		must(t, err)

		created, err := pods.Create(ctx, pod("a"), metav1.CreateOptions{})
		must(t, err)
		if created.UID == "" || created.Generation != 1 || created.Status.Phase != corev1.PodPending || created.Spec.Containers[0].Image != "i" {
			t.Errorf("create: got %+v", created)
		}
		must(t, pods.Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: "a"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n1"},
		}, metav1.CreateOptions{}))
		running, err := pods.Patch(ctx, "a", types.StrategicMergePatchType,
			[]byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`), metav1.PatchOptions{}, "status")
		must(t, err)
		if running.Spec.NodeName != "n1" || running.Status.Phase != corev1.PodRunning || len(running.Status.Conditions) != 2 {
			t.Errorf("patch of the status: got %+v", running)
		}
		_, err = pods.Update(ctx, created, metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) {
			t.Errorf("update with an old resourceVersion: got %v, want a conflict", err)
		}
		must(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
			current, err := pods.Get(ctx, "a", metav1.GetOptions{})
			if err == nil {
				current.Labels["app"] = "y"
				_, err = pods.Update(ctx, current, metav1.UpdateOptions{})
			}
			return err
		}))
		byNode, err := pods.List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=n1", LabelSelector: "app=y"})
		must(t, err)
		if len(byNode.Items) != 1 || byNode.Items[0].Name != "a" {
			t.Errorf("list by node: got %d Pods, want a", len(byNode.Items))
		}
		must(t, pods.Delete(ctx, "a", metav1.DeleteOptions{}))
		terminating, err := pods.Get(ctx, "a", metav1.GetOptions{})
		must(t, err)
		if terminating.DeletionTimestamp == nil || *terminating.DeletionGracePeriodSeconds != 30 || terminating.Generation != 2 {
			t.Errorf("get after a graceful delete: got %+v", terminating.ObjectMeta)
		}
		must(t, pods.Delete(ctx, "a", *metav1.NewDeleteOptions(0)))
		if _, err := pods.Get(ctx, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("get after a delete with grace period 0: got %v, want NotFound", err)
		}
		_, err = pods.Create(ctx, pod("b"), metav1.CreateOptions{})
		must(t, err)
		must(t, pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=x"}))
		expectEvents(t, w, "ADDED a", "MODIFIED a", "MODIFIED a", "MODIFIED a", "MODIFIED a", "MODIFIED a", "DELETED a", "ADDED b", "MODIFIED b", "DELETED b")
	}
}

// testLeases creates and updates a Lease as leader election does.
func testLeases(config *rest.Config) func(*testing.T) {
	return func(t *testing.T) {
		client, namespace := clientset(t, config)
		ctx, leases := t.Context(), client.CoordinationV1().Leases(namespace)
		holder, rival, seconds := "holder", "rival", int32(15)
		held, err := leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: "l"},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds},
		}, metav1.CreateOptions{})
		must(t, err)
		_, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l"}}, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			t.Errorf("second create: got %v, want AlreadyExists", err)
		}
		stale := held.DeepCopy()
		now := metav1.NewMicroTime(time.Now().Truncate(time.Microsecond))
		held.Spec.RenewTime = &now
		renewed, err := leases.Update(ctx, held, metav1.UpdateOptions{})
		must(t, err)
		if !renewed.Spec.RenewTime.Equal(&now) {
			t.Errorf("update: got renewTime %v, want %v", renewed.Spec.RenewTime, now)
		}
		stale.Spec.HolderIdentity = &rival
		if _, err := leases.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("update of a renewed Lease by a rival: got %v, want a conflict", err)
		}
	}
}
