// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

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
	client := clientOf(t, server)
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

const gearSchema = `
type: object
properties:
  spec:
    type: object
    properties:
      size: {type: integer, default: 3}
  status: {type: object, properties: {ready: {type: boolean, default: false}}}
`

var gear = fake.CustomResource{Group: "example.com", Versions: []string{"v1"}, Kind: "Gear", StatusSubresource: true, Schema: gearSchema}

var gearsV1 = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gears"}

func newGear(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Gear", "metadata": map[string]any{"namespace": "ns", "name": name}, "spec": spec,
	}}
}

// Writes without HTTP are pruned and defaulted, too. The script schema in
// test/conformance has those of requests.
func TestSchemaPrunesAndDefaults(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{CustomResources: []fake.CustomResource{gear}})
	a := newGear("a", map[string]any{"other": "x"})
	must(t, server.Create(a))
	expectField(t, a, map[string]any{"size": int64(3)}, "spec")
	a.Object["spec"] = map[string]any{"size": nil, "other": "x"}
	must(t, server.Update(a))
	expectField(t, a, map[string]any{"size": int64(3)}, "spec")
	a.Object["status"] = map[string]any{"other": "x"}
	must(t, server.UpdateStatus(a))
	expectField(t, a, map[string]any{"ready": false}, "status")

	changed := gear
	changed.Schema = strings.ReplaceAll(strings.ReplaceAll(gearSchema, "size", "weight"), "ready", "done")
	must(t, server.Update(changed.Definition()))
	got := newGear("a", nil)
	must(t, server.Get(got))
	expectField(t, got, map[string]any{"weight": int64(3)}, "spec")
	expectField(t, got, map[string]any{"done": false}, "status")
	if got.GetResourceVersion() != a.GetResourceVersion() {
		t.Errorf("get after a change of the schema: got resourceVersion %s, want %s", got.GetResourceVersion(), a.GetResourceVersion())
	}
}

// The script validation in test/conformance has the causes of each keyword.
func TestRequestsAreValidatedBySchema(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{CustomResources: []fake.CustomResource{gear}})
	client := clientOf(t, server).Resource(gearsV1).Namespace("ns")
	invalid := newGear("a", map[string]any{"size": "x"})
	_, err := client.Create(t.Context(), invalid, metav1.CreateOptions{})
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) {
		t.Fatalf("create: got %v, want an error of the reason Invalid", err)
	}
	want := []metav1.StatusCause{{
		Type: metav1.CauseType(field.ErrorTypeTypeInvalid), Field: "spec.size",
		Message: `Invalid value: "string": spec.size in body must be of type integer: "string"`,
	}}
	if diff := cmp.Diff(want, status.Status().Details.Causes); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	must(t, server.Create(invalid)) // without HTTP, nothing is validated
	_, err = client.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	must(t, err) // the invalid value is unchanged
	_, err = client.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"size":"y"}}`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) {
		t.Errorf("patch: got %v, want an error of the reason Invalid", err)
	}
	_, err = client.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"status":{"ready":1}}`), metav1.PatchOptions{}, "status")
	if !apierrors.IsInvalid(err) {
		t.Errorf("patch of the status: got %v, want an error of the reason Invalid", err)
	}
}

// A schema with rules in CEL is logged when the definition is created, and not again.
func TestRulesInCELAreLoggedOnce(t *testing.T) {
	var log strings.Builder
	state := klog.CaptureState()
	defer state.Restore()
	klog.SetLogger(funcr.New(func(_, args string) { log.WriteString(args + "\n") }, funcr.Options{}))
	server := startServer(t, fake.APIServerOptions{CustomResources: []fake.CustomResource{gear}})
	withRules := gear
	withRules.Schema += "x-kubernetes-validations: [{rule: has(self.spec)}]\n"
	must(t, server.Update(withRules.Definition()))
	withRules.Schema += "description: changed\n"
	must(t, server.Update(withRules.Definition()))
	must(t, server.Create(newGear("a", map[string]any{})))
	const want = `"level"=0 "msg"="Fake API server does not evaluate x-kubernetes-validations" "customResourceDefinition"="gears.example.com"` + "\n"
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// expectField requires the value of a top-level field.
func expectField(t *testing.T, obj *unstructured.Unstructured, want map[string]any, field string) {
	t.Helper()
	if diff := cmp.Diff(want, obj.Object[field]); diff != "" {
		t.Errorf("%s (-want +got):\n%s", field, diff)
	}
}

func TestInvalidSchemaIsAnError(t *testing.T) {
	for schema, want := range map[string]string{
		"- a":                     "decode Schema",
		"{":                       "decode Schema",
		"properties: [a]":         "openAPIV3Schema.properties is",
		"properties: {spec: [a]}": "openAPIV3Schema.properties.spec is",
	} {
		invalid := gear
		invalid.Schema = schema
		if _, err := fake.StartAPIServer(fake.APIServerOptions{CustomResources: []fake.CustomResource{invalid}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want one with %q", schema, err, want)
		}
	}
	server := startServer(t, fake.APIServerOptions{CustomResources: []fake.CustomResource{gear}})
	definition := gear.Definition()
	versions := definition.Object["spec"].(map[string]any)["versions"].([]any)
	versions[0].(map[string]any)["schema"] = map[string]any{"openAPIV3Schema": map[string]any{"properties": "text"}}
	if err := server.Update(definition); !apierrors.IsBadRequest(err) {
		t.Errorf("update to an invalid schema: got %v, want 400", err)
	}
	invalid := gear
	invalid.Schema = "- a"
	if err := server.Aggregate(invalid); err == nil {
		t.Error("aggregate with an invalid schema: got no error")
	}
	defer func() {
		if recover() == nil {
			t.Error("Definition did not panic")
		}
	}()
	invalid.Definition()
}

// An update of a CustomResourceDefinition adds and removes versions and keeps the objects. Its
// removal in process removes the objects and ends watches.
func TestDefinitionUpdateAndDelete(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{CustomResources: []fake.CustomResource{widget}})
	client := clientOf(t, server)
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
	expectNext(t, w, "closed")
	version := server.ResourceVersion()
	w, err = objects("v1").Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
	must(t, err)
	defer w.Stop()
	if _, err := objects("v1beta1").List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("list in a removed version: got %v, want NotFound", err)
	}
	if got, err := objects("v2").Namespace("ns").Get(t.Context(), "a", metav1.GetOptions{}); err != nil || got.GetAPIVersion() != "example.com/v2" {
		t.Errorf("get in an added version: got %v, %v", got, err)
	}
	must(t, server.Create(newWidget("v2", "b")))
	must(t, server.Delete(changed.Definition()))
	expectNext(t, w, "ADDED b@"+addVersions(t, version, 1), "DELETED a@"+addVersions(t, version, 2),
		"DELETED b@"+addVersions(t, version, 3), "closed")
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

// An object that a YAML library has decoded into a map is stored as if a client had sent it: with
// int64 for whole numbers.
func TestWholeNumbersAreStoredAsIntegers(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{CustomResources: []fake.CustomResource{widget}})
	spec := map[string]any{"replicas": 2.0, "load": 0.5, "ports": []any{80.0, map[string]any{"number": 443.0}}, "most": 1e30}
	w := newWidget("v1", "a")
	w.Object["spec"] = runtime.DeepCopyJSON(spec)
	must(t, server.Create(w))
	want := map[string]any{"replicas": int64(2), "load": 0.5, "ports": []any{int64(80), map[string]any{"number": int64(443)}}, "most": 1e30}
	if diff := cmp.Diff(want, w.Object["spec"]); diff != "" {
		t.Errorf("spec after create (-want +got):\n%s", diff)
	}
	w.Object["spec"] = spec
	if must(t, server.Update(w)); w.GetGeneration() != 1 {
		t.Errorf("generation after an update without a change: got %d, want 1", w.GetGeneration())
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

// definitionOf returns the stored CustomResourceDefinition of widgets.
func definitionOf(t *testing.T, server *fake.APIServer) *unstructured.Unstructured {
	t.Helper()
	definition := widget.Definition()
	must(t, server.Get(definition))
	return definition
}

// A deleted CustomResourceDefinition stays until the last of its objects is removed, which a
// finalizer may delay.
func TestDefinitionIsTerminatingUntilItsObjectsAreRemoved(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{CustomResources: []fake.CustomResource{widget}})
	client := clientOf(t, server)
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	widgets := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
	a := newWidget("v1", "a")
	a.SetFinalizers([]string{"example.com/wait"})
	must(t, server.Create(a))
	must(t, server.Create(newWidget("v1", "b")))
	version := server.ResourceVersion()
	watched, err := widgets.Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
	must(t, err)
	defer watched.Stop()

	must(t, definitions.Delete(t.Context(), "widgets.example.com", metav1.DeleteOptions{}))
	definition := definitionOf(t, server)
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	last := conditions[len(conditions)-1].(map[string]any)
	if definition.GetDeletionTimestamp() == nil || !slices.Equal(definition.GetFinalizers(), []string{"customresourcecleanup.apiextensions.k8s.io"}) ||
		last["type"] != "Terminating" || last["reason"] != "InstanceDeletionInProgress" {
		t.Errorf("got metadata %v, condition %v, want a definition that is being deleted", definition.Object["metadata"], last)
	}
	expectNext(t, watched, "MODIFIED a@"+addVersions(t, version, 3), "DELETED b@"+addVersions(t, version, 4))
	if _, err := widgets.Namespace("ns").Create(t.Context(), newWidget("v1", "c"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "terminating") {
		t.Errorf("create: got %v, want Forbidden", err)
	}
	if err := definitions.Delete(t.Context(), "widgets.example.com", metav1.DeleteOptions{}); err != nil {
		t.Errorf("second delete: %v", err)
	}
	_, groups := discover(t, server, "/apis", "")
	resource := groups.Items[len(groups.Items)-1].Versions[0].Resources[0]
	if resource.Resource != "widgets" || slices.Contains(resource.Verbs, "create") || !slices.Contains(resource.Verbs, "watch") {
		t.Errorf("got %s with verbs %v, want widgets without create", resource.Resource, resource.Verbs)
	}

	must(t, server.Get(a))
	a.SetFinalizers(nil)
	_, err = widgets.Namespace("ns").Update(t.Context(), a, metav1.UpdateOptions{})
	must(t, err)
	if err := server.Get(widget.Definition()); !apierrors.IsNotFound(err) {
		t.Errorf("definition after its last object: got %v, want NotFound", err)
	}
	if e := <-watched.ResultChan(); e.Type != "DELETED" {
		t.Errorf("got event %v, want DELETED", e)
	}
	expectNext(t, watched, "closed")
	if _, err := widgets.List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("list: got %v, want NotFound", err)
	}
	if _, groups := discover(t, server, "/apis", ""); len(versionsOf(groups, "example.com")) > 0 {
		t.Errorf("discovery has versions %v", versionsOf(groups, "example.com"))
	}
}

// Other finalizers keep a definition after its objects are removed.
func TestDefinitionWithFinalizers(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{})
	definition := widget.Definition()
	definition.SetFinalizers([]string{"example.com/wait"})
	must(t, server.Create(definition))
	must(t, server.Create(newWidget("v1", "a")))
	client := clientOf(t, server)
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	must(t, definitions.Delete(t.Context(), definition.GetName(), metav1.DeleteOptions{}))
	if left := definitionOf(t, server); !slices.Equal(left.GetFinalizers(), []string{"example.com/wait"}) {
		t.Errorf("got finalizers %q, want those of the client", left.GetFinalizers())
	}
	if err := server.Create(newWidget("v1", "b")); !apierrors.IsForbidden(err) {
		t.Errorf("create: got %v, want Forbidden", err)
	}
	_, err := definitions.Patch(t.Context(), definition.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	must(t, err)
	if err := server.Create(newWidget("v1", "b")); err == nil || !strings.Contains(err.Error(), "no resource for") {
		t.Errorf("create after the last finalizer: got %v, want an error", err)
	}
}

// An update of the spec ends the watches of all versions, and one of the metadata ends none.
func TestUnservedVersionLeavesDiscovery(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{CustomResources: []fake.CustomResource{widget}})
	client := clientOf(t, server)
	open := func(version string) watch.Interface {
		w, err := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "widgets"}).Watch(t.Context(), metav1.ListOptions{})
		must(t, err)
		t.Cleanup(w.Stop)
		return w
	}
	v1, beta := open("v1"), open("v1beta1")
	definition := definitionOf(t, server)
	definition.SetLabels(map[string]string{"l": "1"})
	must(t, server.Update(definition))
	var created *unstructured.Unstructured
	for _, name := range []string{"a", "b"} { // the events of b would not arrive if the update had ended the watches
		created = newWidget("v1", name)
		must(t, server.Create(created))
		expectNext(t, v1, "ADDED "+name+"@"+created.GetResourceVersion())
		expectNext(t, beta, "ADDED "+name+"@"+created.GetResourceVersion())
	}

	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, unserved := range []int{1, 0} {
		versions[unserved].(map[string]any)["served"] = false
		must(t, unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"))
		must(t, server.Update(definition))
		expectNext(t, beta, "closed")
		expectNext(t, v1, "closed")
		beta, v1 = watch.NewFake(), watch.NewFake()
		beta.Stop()
		v1.Stop()
		_, groups := discover(t, server, "/apis", "")
		if got := versionsOf(groups, "example.com"); len(got) != unserved {
			t.Errorf("got versions %q in discovery, want %d", got, unserved)
		}
	}
	versions[0].(map[string]any)["served"] = true
	must(t, unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"))
	must(t, server.Update(definition))
	must(t, server.Get(created)) // it was stored all the time
}
