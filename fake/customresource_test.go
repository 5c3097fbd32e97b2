// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kinformer/kinformer/fake"
)

var widget = fake.CustomResource{Group: "example.com", Versions: []string{"v1", "v1beta1"}, Kind: "Widget", StatusSubresource: true}

func newWidget(version, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/" + version, "kind": "Widget",
		"metadata": map[string]any{"namespace": "ns", "name": name},
	}}
}

func TestCustomResourcesOfTheOptionsAreServed(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{CustomResources: []fake.CustomResource{
		widget, {Group: "example.com", Versions: []string{"v1"}, Kind: "Sheep", Plural: "sheep", ClusterScoped: true},
	}})
	a := newWidget("v1", "a")
	a.Object["status"] = map[string]any{"ready": true}
	must(t, server.Create(a))
	if a.Object["status"] != nil || a.GetUID() == "" {
		t.Errorf("create: got %v, want a UID and no status", a.Object)
	}
	a.Object["status"] = map[string]any{"ready": true}
	must(t, server.UpdateStatus(a))
	beta := newWidget("v1beta1", "a")
	must(t, server.Get(beta))
	if ready, _, _ := unstructured.NestedBool(beta.Object, "status", "ready"); !ready || beta.GetAPIVersion() != "example.com/v1beta1" {
		t.Errorf("get in v1beta1: got %v", beta.Object)
	}
	must(t, server.Create(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Sheep", "metadata": map[string]any{"name": "dolly"}}}))
	client, err := dynamic.NewForConfig(server.Config())
	must(t, err)
	list, err := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "sheep"}).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	if len(list.Items) != 1 || list.Items[0].GetName() != "dolly" {
		t.Errorf("list: got %v, want dolly", list.Items)
	}
}

func TestInvalidCustomResourceIsAnError(t *testing.T) {
	for want, custom := range map[string]fake.CustomResource{
		"exactly one": {Group: "example.com", Kind: "Widget"},
		"spec.group":  {Versions: []string{"v1"}, Kind: "Widget"},
		"spec.names":  {Group: "example.com", Versions: []string{"v1"}},
	} {
		if _, err := fake.StartAPIServer(fake.APIServerOptions{CustomResources: []fake.CustomResource{custom}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
}

// An update of a CustomResourceDefinition adds and removes versions and keeps the objects. Its
// deletion deletes the objects and ends watches.
func TestDefinitionUpdateAndDelete(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{CustomResources: []fake.CustomResource{widget}})
	client, err := dynamic.NewForConfig(server.Config())
	must(t, err)
	objects := func(version string) dynamic.NamespaceableResourceInterface {
		return client.Resource(schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "widgets"})
	}
	must(t, server.Create(newWidget("v1", "a")))
	list, err := objects("v1").List(t.Context(), metav1.ListOptions{})
	must(t, err)
	w, err := objects("v1").Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	must(t, err)
	defer w.Stop()

	changed := widget
	changed.Versions = []string{"v1", "v2"}
	must(t, server.Update(changed.Definition()))
	if _, err := objects("v1beta1").List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("list in a removed version: got %v, want NotFound", err)
	}
	if got, err := objects("v2").Namespace("ns").Get(t.Context(), "a", metav1.GetOptions{}); err != nil || got.GetAPIVersion() != "example.com/v2" {
		t.Errorf("get in an added version: got %v, %v", got, err)
	}
	must(t, server.Create(newWidget("v2", "b")))
	must(t, server.Delete(changed.Definition()))
	version := list.GetResourceVersion()
	expectNext(t, w, "ADDED b@"+addVersions(t, version, 2), "DELETED a@"+addVersions(t, version, 3),
		"DELETED b@"+addVersions(t, version, 4), "closed")
	if _, err := objects("v1").List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("list of a deleted resource: got %v, want NotFound", err)
	}
	must(t, server.Create(widget.Definition()))
	empty, err := objects("v1").List(t.Context(), metav1.ListOptions{})
	must(t, err)
	if len(empty.Items) != 0 {
		t.Errorf("list of a recreated resource: got %d objects, want none", len(empty.Items))
	}
}

func TestUnstructuredObjectsOfBuiltInKinds(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{})
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "ns", "name": "a"},
		"spec": map[string]any{"nodeName": "n1"},
	}}
	must(t, server.Create(u))
	typed := pod("a")
	must(t, server.Get(typed))
	if typed.Spec.NodeName != "n1" || string(typed.UID) != string(u.GetUID()) || typed.Status.Phase != corev1.PodPending {
		t.Errorf("get: got %+v, want the object created from %v", typed, u.Object)
	}
	invalid := u.DeepCopy()
	invalid.Object["spec"] = "text"
	if err := server.Update(invalid); err == nil || !strings.Contains(err.Error(), "*v1.Pod") {
		t.Errorf("update to an invalid Pod: got %v, want a conversion error", err)
	}
	if err := server.Create(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "none/v1", "kind": "None"}}); err == nil || !strings.Contains(err.Error(), "no resource for none/v1") {
		t.Errorf("create of an unknown kind: got %v, want an error", err)
	}
}
