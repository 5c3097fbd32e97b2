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

// typed is a Pod's life as scheduler, kubelet and users make it.
func typed(config *rest.Config) func(*testing.T) {
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
			t.Errorf("created %+v", created)
		}
		must(t, pods.Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: "a"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n1"},
		}, metav1.CreateOptions{}))
		running, err := pods.Patch(ctx, "a", types.StrategicMergePatchType,
			[]byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`), metav1.PatchOptions{}, "status")
		must(t, err)
		if running.Spec.NodeName != "n1" || running.Status.Phase != corev1.PodRunning || len(running.Status.Conditions) != 2 {
			t.Errorf("on its node %+v", running)
		}
		_, err = pods.Update(ctx, created, metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) {
			t.Errorf("an update of an old version: %v", err)
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
			t.Errorf("on the node are %d Pods", len(byNode.Items))
		}
		must(t, pods.Delete(ctx, "a", metav1.DeleteOptions{}))
		dying, err := pods.Get(ctx, "a", metav1.GetOptions{})
		must(t, err)
		if dying.DeletionTimestamp == nil || *dying.DeletionGracePeriodSeconds != 30 || dying.Generation != 2 {
			t.Errorf("deleted with grace: %+v", dying.ObjectMeta)
		}
		must(t, pods.Delete(ctx, "a", *metav1.NewDeleteOptions(0)))
		if _, err := pods.Get(ctx, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("deleted without grace: %v", err)
		}
		_, err = pods.Create(ctx, pod("b"), metav1.CreateOptions{})
		must(t, err)
		must(t, pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=x"}))
		expectEvents(t, w, "ADDED a", "MODIFIED a", "MODIFIED a", "MODIFIED a", "MODIFIED a", "MODIFIED a", "DELETED a", "ADDED b", "MODIFIED b", "DELETED b")
	}
}

// leases is leader election, as far as the server has a part in it.
func leases(config *rest.Config) func(*testing.T) {
	return func(t *testing.T) {
		client, namespace := clientset(t, config)
		ctx, leases := t.Context(), client.CoordinationV1().Leases(namespace)
		me, you, seconds := "me", "you", int32(15)
		mine, err := leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: "l"},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &me, LeaseDurationSeconds: &seconds},
		}, metav1.CreateOptions{})
		must(t, err)
		_, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l"}}, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			t.Errorf("a second lease: %v", err)
		}
		yours := mine.DeepCopy()
		now := metav1.NewMicroTime(time.Now().Truncate(time.Microsecond))
		mine.Spec.RenewTime = &now
		renewed, err := leases.Update(ctx, mine, metav1.UpdateOptions{})
		must(t, err)
		if !renewed.Spec.RenewTime.Equal(&now) {
			t.Errorf("renewed at %v, want %v", renewed.Spec.RenewTime, now)
		}
		yours.Spec.HolderIdentity = &you
		if _, err := leases.Update(ctx, yours, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("taking a lease that was renewed: %v", err)
		}
	}
}
