// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

// server is a registry with the resources that the tests of Namespaces write.
type server struct {
	*testing.T
	namespaces, pods, configMaps, leases, widgets *Store
}

func newServer(t *testing.T) server {
	t.Helper()
	r := New(history.NewMemory(), resource.BuiltIn(), 0)
	core := corev1.SchemeGroupVersion
	s := server{
		T: t, namespaces: r.ForResource(core.WithResource("namespaces")), pods: r.ForResource(core.WithResource("pods")),
		configMaps: r.ForResource(core.WithResource("configmaps")), leases: r.ForResource(coordinationv1.SchemeGroupVersion.WithResource("leases")),
	}
	s.must(second(r.definitions().Create("", &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "kind": "Widget"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			}}},
		},
	}}, Checked)))
	s.widgets = r.ForResource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
	return s
}

func (s server) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }

func inNS(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "ns", Name: name} }

func newNamespace(finalizers ...string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", Finalizers: finalizers}}
}

// create creates the Namespace, and in it a Pod and a ConfigMap with the names old and gone.
func (s server) create() {
	s.Helper()
	s.must(second(s.namespaces.Create("", newNamespace(), Checked)))
	s.fill()
}

func (s server) fill() {
	s.Helper()
	for _, name := range []string{"old", "gone"} {
		s.must(second(s.pods.Create("ns", newPod(name), Checked)))
		s.must(second(s.configMaps.Create("ns", &corev1.ConfigMap{ObjectMeta: inNS(name)}, Checked)))
	}
}

func (s server) delete() {
	s.Helper()
	s.must(third(s.namespaces.Delete("", "ns", &metav1.DeleteOptions{})))
}

// finalize removes the finalizer of the cluster's namespace controller, as that does.
func (s server) finalize(finalizers ...string) {
	s.Helper()
	s.must(third(s.namespaces.Finalize("", "ns", newNamespace(finalizers...), Checked)))
}

// What a write in a Namespace returns.
const (
	written    = "written"
	terminates = "Namespace terminates"
	noSpace    = "no Namespace"
	noObject   = "no object"
)

func resultOf(err error) string {
	status := apierrors.APIStatus(nil)
	if err != nil {
		status, _ = err.(apierrors.APIStatus)
	}
	switch {
	case err == nil:
		return written
	case apierrors.IsForbidden(err) && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return terminates
	case apierrors.IsNotFound(err) && status.Status().Details.Kind == "namespaces" && status.Status().Details.Name == "ns":
		return noSpace
	case apierrors.IsNotFound(err) && status.Status().Details.Kind != "namespaces":
		return noObject
	}
	return err.Error()
}

var namespaceStates = []struct {
	name    string
	prepare func(server)
	removed bool
	marked  bool
}{
	{name: "never created", prepare: server.fill},
	{name: "never created but in a dry run", prepare: func(s server) {
		s.must(second(s.namespaces.Create("", newNamespace(), DryRun)))
		s.fill()
	}},
	{name: "active", prepare: server.create},
	{name: "deleted in a dry run", prepare: func(s server) {
		s.create()
		s.must(third(s.namespaces.Delete("", "ns", &metav1.DeleteOptions{DryRun: []string{"All"}})))
	}},
	{name: "terminating", marked: true, prepare: func(s server) {
		s.create()
		s.delete()
	}},
	{name: "terminating, with a finalizer in its metadata", marked: true, prepare: func(s server) {
		s.must(second(s.namespaces.Create("", newNamespace("example.com/f"), Checked)))
		s.fill()
		s.delete()
		s.finalize("example.com/f")
	}},
	{name: "removed by its last finalizer", removed: true, prepare: func(s server) {
		s.create()
		s.delete()
		s.finalize()
	}},
	{name: "removed by its last finalizer in the metadata", removed: true, prepare: func(s server) {
		s.must(second(s.namespaces.Create("", newNamespace("example.com/f"), Checked)))
		s.fill()
		s.delete()
		s.finalize("example.com/f")
		s.must(third(s.namespaces.Update("", "ns", newNamespace(), Checked)))
	}},
	{name: "removed by a delete", removed: true, prepare: func(s server) {
		s.create()
		s.finalize()
		s.delete()
	}},
	{name: "removed at once", removed: true, prepare: func(s server) {
		s.create()
		s.must(second(s.namespaces.Remove("", "ns", "")))
	}},
	{name: "removed long ago", removed: true, prepare: func(s server) {
		s.create()
		s.must(second(s.namespaces.Remove("", "ns", "")))
		s.namespaces.memory.Compact()
	}},
	{name: "created again", prepare: func(s server) {
		s.create()
		s.must(second(s.namespaces.Remove("", "ns", "")))
		s.must(second(s.namespaces.Create("", newNamespace(), Checked)))
	}},
}

// Nothing is created in a Namespace that terminates or was removed. One that was never created need
// not exist.
func TestWritesInDeletedNamespaces(t *testing.T) {
	merge := func(s *Store, name string) error {
		return second(s.Patch("ns", name, types.MergePatchType, []byte(`{"metadata":{"labels":{"merged":"yes"}}}`), (*Store).Update, Checked))
	}
	apply := func(s *Store, name string) error {
		config := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `","namespace":"ns"},"data":{"k":"applied"}}`)
		return third(s.Apply("ns", name, config, true, (*Store).Update, Checked))
	}
	bind := func(s *Store, name string) error {
		return s.Bind("ns", name, &corev1.Binding{ObjectMeta: inNS(name), Target: corev1.ObjectReference{Name: "n"}}, Checked)
	}
	writes := []struct {
		name                 string
		do                   func(server) error
		active, marked, gone string
	}{
		{"create", func(s server) error {
			return second(s.configMaps.Create("ns", &corev1.ConfigMap{ObjectMeta: inNS("new")}, Checked))
		}, written, terminates, noSpace},
		{"create with a generated name", func(s server) error {
			return second(s.configMaps.Create("ns", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "new-"}}, Checked))
		}, written, terminates, noSpace},
		{"create in a dry run", func(s server) error { return second(s.pods.Create("ns", newPod("dry"), DryRun)) }, written, terminates, noSpace},
		{"create without a request", func(s server) error { return second(s.pods.Create("ns", newPod("trusted"), Trusted)) }, written, terminates, noSpace},
		{"create of a custom resource", func(s server) error {
			return second(s.widgets.Create("ns", &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "new"},
			}}, Checked))
		}, written, terminates, noSpace},
		{"create by an update", func(s server) error {
			return third(s.leases.Update("ns", "new", &coordinationv1.Lease{ObjectMeta: inNS("new")}, Checked))
		}, written, terminates, noSpace},
		{"create by an apply", func(s server) error { return apply(s.configMaps, "applied") }, written, terminates, noSpace},
		{"binding", func(s server) error { return bind(s.pods, "old") }, written, terminates, noSpace},
		{"binding of no Pod", func(s server) error { return bind(s.pods, "none") }, noObject, terminates, noSpace},
		{"update of no object", func(s server) error {
			return third(s.configMaps.Update("ns", "none", &corev1.ConfigMap{ObjectMeta: inNS("none")}, Checked))
		}, noObject, noObject, noObject},
		{"update of no status", func(s server) error { return third(s.pods.UpdateStatus("ns", "none", newPod("none"), Checked)) }, noObject, noObject, noObject},
		{"patch of no object", func(s server) error { return merge(s.configMaps, "none") }, noObject, noObject, noObject},
		{"update", func(s server) error {
			return third(s.configMaps.Update("ns", "old", &corev1.ConfigMap{ObjectMeta: inNS("old")}, Checked))
		}, written, written, noSpace},
		{"update of the status", func(s server) error { return third(s.pods.UpdateStatus("ns", "old", newPod("old"), Checked)) }, written, written, noSpace},
		{"patch", func(s server) error { return merge(s.configMaps, "old") }, written, written, noSpace},
		{"apply", func(s server) error { return apply(s.configMaps, "old") }, written, written, noSpace},
		{"delete of no object", func(s server) error { return third(s.pods.Delete("ns", "none", &metav1.DeleteOptions{})) }, noObject, noObject, noObject},
		{"delete", func(s server) error { return third(s.pods.Delete("ns", "gone", &metav1.DeleteOptions{})) }, written, written, written},
		{"delete without a request", func(s server) error { return second(s.configMaps.Remove("ns", "gone", "")) }, written, written, written},
		{"delete of a collection", func(s server) error {
			return second(s.configMaps.DeleteCollection("ns", metav1.ListOptions{}, &metav1.DeleteOptions{}))
		}, written, written, written},
	}
	for _, state := range namespaceStates {
		t.Run(state.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			state.prepare(s)
			for _, write := range writes {
				want := write.active
				switch {
				case state.marked:
					want = write.marked
				case state.removed:
					want = write.gone
				}
				before := s.namespaces.memory.Version()
				got := resultOf(write.do(s))
				if got != want {
					t.Errorf("%s: got %q, want %q", write.name, got, want)
				}
				if want != written && s.namespaces.memory.Version() != before {
					t.Errorf("%s: an object was written", write.name)
				}
			}
		})
	}
}

// The errors are those of kube-apiserver, also for an object that has no name yet.
func TestErrorInTerminatingNamespaceHasTheName(t *testing.T) {
	s := newServer(t)
	s.create()
	s.delete()
	for want, meta := range map[string]metav1.ObjectMeta{
		"new":     {Name: "new"},
		"new-":    {GenerateName: "new-"},
		"both":    {Name: "both", GenerateName: "new-"},
		"Unknown": {},
		"a/b":     {Name: "a/b"},                           // its name is not checked yet
		"version": {Name: "version", ResourceVersion: "1"}, // nor its resourceVersion
	} {
		_, err := s.configMaps.Create("ns", &corev1.ConfigMap{ObjectMeta: meta}, Checked)
		status, ok := err.(apierrors.APIStatus)
		if !ok || resultOf(err) != terminates || status.Status().Details.Name != want || status.Status().Details.Kind != "configmaps" {
			t.Errorf("%q: got %v", want, err)
		}
	}
}
