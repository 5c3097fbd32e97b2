// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// TestClientsetWritesWhatInformersRead writes by a fake clientset, and reads by an informer of the
// same clientset, whose watch expires in between.
func TestClientsetWritesWhatInformersRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientset.NewClientset()
		pods := fake.NewListerWatcher(&corev1.Pod{})
		pods.Serve(client, "pods")
		pods.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "x"}})
		informer := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods("ns")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- informer.Run(ctx) }()
		synctest.Wait()

		made, err := client.CoreV1().Pods("ns").Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}, metav1.CreateOptions{})
		if err != nil || made.UID == "" || made.ResourceVersion == "" || len(made.Name) <= len("a-") {
			t.Fatalf("created %+v, %v", made, err)
		}
		if err := informer.WaitForObject(ctx, made); err != nil {
			t.Error(err)
		}
		pods.Send(fake.ErrorEvent(fake.Expired()))
		patched, err := client.CoreV1().Pods("ns").Patch(ctx, made.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
		if err != nil || patched.Labels["a"] != "b" || patched.UID != made.UID {
			t.Errorf("patched %+v, %v", patched, err)
		}
		if err := informer.WaitForObject(ctx, patched); err != nil {
			t.Error(err)
		}
		if keys := informer.Store().ListKeys(); !slices.Equal(keys, []string{"ns/" + made.Name}) {
			t.Errorf("the informer of a namespace has %v", keys)
		}
		if err := client.CoreV1().Pods("ns").Delete(ctx, made.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if err := informer.WaitForDelete(ctx, patched); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// TestClientsetUpdateKeepsManagedFields updates an object of a cache that omits the managedFields.
func TestClientsetUpdateKeepsManagedFields(t *testing.T) {
	client := clientset.NewClientset()
	lw := fake.NewListerWatcher(&corev1.Pod{})
	lw.Serve(client, "pods")
	cached := lw.Create(fullPod("a"))
	cached.ManagedFields = nil
	if _, err := client.CoreV1().Pods("ns").Update(t.Context(), cached, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if stored, _ := lw.Get("ns/a"); !reflect.DeepEqual(stored.ManagedFields, fullPod("a").ManagedFields) {
		t.Errorf("managedFields %v", stored.ManagedFields)
	}
}

// TestClientsetErrors checks the errors of writes that a server would refuse.
func TestClientsetErrors(t *testing.T) {
	client := clientset.NewClientset()
	fake.NewListerWatcher(&corev1.Pod{}).Serve(client, "pods")
	pods, ctx := client.CoreV1().Pods("ns"), t.Context()
	pod, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	must(t, err)
	if _, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("create again: %v", err)
	}
	if _, err := pods.Update(ctx, pod, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := pods.Update(ctx, pod, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("update of an older version: %v", err)
	}
	if err := pods.Delete(ctx, "a", *metav1.NewPreconditionDeleteOptions("other")); !apierrors.IsConflict(err) {
		t.Errorf("delete of another UID: %v", err)
	}
	for _, err := range []error{
		func() error { _, err := pods.Get(ctx, "none", metav1.GetOptions{}); return err }(),
		func() error {
			_, err := pods.Update(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "none"}}, metav1.UpdateOptions{})
			return err
		}(),
		pods.Delete(ctx, "none", metav1.DeleteOptions{}),
	} {
		if !apierrors.IsNotFound(err) {
			t.Errorf("%v, want NotFound", err)
		}
	}
}
