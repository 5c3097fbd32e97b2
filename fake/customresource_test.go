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

func TestCustomResourcesFromTheStart(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{CustomResources: []fake.CustomResource{
		widget, {Group: "example.com", Versions: []string{"v1"}, Kind: "Sheep", Plural: "sheep", ClusterScoped: true},
	}})
	a := newWidget("v1", "a")
	a.Object["status"] = map[string]any{"ready": true}
	must(t, server.Create(a))
	if a.Object["status"] != nil || a.GetUID() == "" {
		t.Errorf("created %v", a.Object)
	}
	a.Object["status"] = map[string]any{"ready": true}
	must(t, server.UpdateStatus(a))
	old := newWidget("v1beta1", "a")
	must(t, server.Get(old))
	if ready, _, _ := unstructured.NestedBool(old.Object, "status", "ready"); !ready || old.GetAPIVersion() != "example.com/v1beta1" {
		t.Errorf("in the other version: %v", old.Object)
	}
	must(t, server.Create(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Sheep", "metadata": map[string]any{"name": "dolly"}}}))
	client, err := dynamic.NewForConfig(server.Config())
	must(t, err)
	list, err := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "sheep"}).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	if len(list.Items) != 1 || list.Items[0].GetName() != "dolly" {
		t.Errorf("listed %v", list.Items)
	}
}

func TestWrongDefinitions(t *testing.T) {
	for want, custom := range map[string]fake.CustomResource{
		"exactly one": {Group: "example.com", Kind: "Widget"},
		"spec.group":  {Versions: []string{"v1"}, Kind: "Widget"},
		"spec.names":  {Group: "example.com", Versions: []string{"v1"}},
	} {
		if _, err := fake.StartAPIServer(fake.APIServerOptions{CustomResources: []fake.CustomResource{custom}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error about %s", err, want)
		}
	}
}

// A definition that changes takes versions with it or brings new ones; the objects stay. One that goes takes the objects along and ends watches.
func TestDefinitionsChangeAndGo(t *testing.T) {
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
		t.Errorf("a version that is served no longer: %v", err)
	}
	if got, err := objects("v2").Namespace("ns").Get(t.Context(), "a", metav1.GetOptions{}); err != nil || got.GetAPIVersion() != "example.com/v2" {
		t.Errorf("in the new version: %v, %v", got, err)
	}
	must(t, server.Create(newWidget("v2", "b")))
	must(t, server.Delete(changed.Definition()))
	expectNext(t, w, "ADDED b@"+next(t, list.GetResourceVersion(), 2), "DELETED a@"+next(t, list.GetResourceVersion(), 3), "DELETED b@"+next(t, list.GetResourceVersion(), 4), "closed")
	if _, err := objects("v1").List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a resource that is gone: %v", err)
	}
	must(t, server.Create(widget.Definition()))
	empty, err := objects("v1").List(t.Context(), metav1.ListOptions{})
	must(t, err)
	if len(empty.Items) != 0 {
		t.Errorf("a resource that comes again has %d objects of before", len(empty.Items))
	}
}

// Unstructured objects may stand for typed ones.
func TestUnstructuredBuiltIns(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{})
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "ns", "name": "a"},
		"spec": map[string]any{"nodeName": "n1"},
	}}
	must(t, server.Create(u))
	typed := pod("a")
	must(t, server.Get(typed))
	if typed.Spec.NodeName != "n1" || string(typed.UID) != string(u.GetUID()) || typed.Status.Phase != corev1.PodPending {
		t.Errorf("got %+v of %v", typed, u.Object)
	}
	wrong := u.DeepCopy()
	wrong.Object["spec"] = "text"
	if err := server.Update(wrong); err == nil || !strings.Contains(err.Error(), "*v1.Pod") {
		t.Errorf("an unstructured Pod that is none: %v", err)
	}
	if err := server.Create(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "none/v1", "kind": "None"}}); err == nil || !strings.Contains(err.Error(), "no resource for none/v1") {
		t.Errorf("an unknown kind: %v", err)
	}
}
