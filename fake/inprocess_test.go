// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/fake"
)

func TestInProcessWrites(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{})
	p := pod("a")
	if err := server.Create(p); err != nil || p.UID == "" || p.ResourceVersion != "2" || p.Kind != "" {
		t.Fatalf("Create: %v, got %+v", err, p)
	}
	p.Labels = map[string]string{"app": "x"}
	p.Status.Phase = corev1.PodRunning
	if err := server.Update(p); err != nil || p.Status.Phase != corev1.PodPending || p.ResourceVersion != "3" {
		t.Fatalf("Update: %v, got %+v", err, p)
	}
	p.Status.Phase = corev1.PodRunning
	if err := server.UpdateStatus(p); err != nil || p.Labels["app"] != "x" {
		t.Fatalf("UpdateStatus: %v, got %+v", err, p)
	}
	p.Labels["app"] = "mine"
	got := pod("a")
	if err := server.Get(got); err != nil || got.Labels["app"] != "x" || got.Status.Phase != corev1.PodRunning {
		t.Fatalf("Get: %v, got %+v", err, got)
	}
	if err := server.Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "other"}}); !apierrors.IsConflict(err) {
		t.Errorf("Delete with another UID: got %v, want a conflict", err)
	}
	if err := server.Delete(got); err != nil || got.ResourceVersion != "5" {
		t.Errorf("Delete: %v, got %+v", err, got.ObjectMeta)
	}
	if err := server.Get(pod("a")); !apierrors.IsNotFound(err) {
		t.Errorf("Get after Delete: got %v, want NotFound", err)
	}
	if err := server.UpdateStatus(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}}); err == nil || !strings.Contains(err.Error(), "no status subresource") {
		t.Errorf("UpdateStatus of a Secret: got %v, want an error", err)
	}
	if err := server.Create(&metav1.PartialObjectMetadata{}); err == nil || !strings.Contains(err.Error(), "set apiVersion and kind") {
		t.Errorf("Create of an object of unknown kind: %v", err)
	}
}

// TestInProcessUpdateKeepsManagedFields updates an object of a cache that omits the managedFields,
// as a client does too.
func TestInProcessUpdateKeepsManagedFields(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{})
	p := fullPod("a")
	must(t, server.Create(p))
	for name, update := range map[string]func(fake.Object) error{"Update": server.Update, "UpdateStatus": server.UpdateStatus} {
		p.ManagedFields = nil
		if err := update(p); err != nil || !reflect.DeepEqual(p.ManagedFields, fullPod("a").ManagedFields) {
			t.Errorf("%s: %v, managedFields %v", name, err, p.ManagedFields)
		}
	}
}
