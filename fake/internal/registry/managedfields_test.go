// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

// managersOf returns the managers of an object, as "name operation subresource", sorted.
func managersOf(obj history.Object) (managers []string) {
	for _, entry := range obj.GetManagedFields() {
		managers = append(managers, strings.TrimSpace(fmt.Sprint(entry.Manager, " ", entry.Operation, " ", entry.Subresource)))
	}
	slices.Sort(managers)
	return managers
}

func expectManagers(t *testing.T, obj history.Object, want ...string) {
	t.Helper()
	if got := managersOf(obj); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got managers %v, want %v", got, want)
	}
}

// client-go has a type for each of its resources. Without one, objects would have no managedFields.
func TestEachBuiltInTypeHasManagedFields(t *testing.T) {
	r := New(history.NewMemory(), resource.BuiltIn(), 0)
	for _, res := range append(resource.BuiltIn(), resource.APIServices(), resource.Definitions()) {
		s := r.ForResource(res.GroupVersionResource)
		obj := s.New()
		obj.SetName("a")
		obj.SetLabels(map[string]string{"a": "b"})
		if !s.Custom { // those would be invalid
			if s.Namespaced {
				obj.SetNamespace("ns")
			}
			created, err := s.For(Caller{Manager: "m"}).Create(obj.GetNamespace(), obj, Trusted)
			if err != nil {
				t.Errorf("%s: %v", res.GroupVersionResource, err)
				continue
			}
			expectManagers(t, created, "m Update")
			continue
		}
		s.For(Caller{Manager: "m"}).recordCreate(obj)
		expectManagers(t, obj, "m Update")
	}
}

func TestWritesWithoutManagerKeepManagedFields(t *testing.T) {
	pods := newPods(t)
	created, err := pods.Create("ns", newPod("a"), Trusted)
	if err != nil {
		t.Fatal(err)
	}
	expectManagers(t, created)
	p := newPod("b")
	p.Labels = map[string]string{"a": "b"}
	if created, err = pods.For(Caller{Manager: "m"}).Create("ns", p, Checked); err != nil {
		t.Fatal(err)
	}
	p = newPod("b")
	p.Labels = map[string]string{"a": "c"}
	updated, _, err := pods.Update("ns", "b", p, Trusted)
	if err != nil {
		t.Fatal(err)
	}
	expectManagers(t, updated, "m Update")
	if got, want := updated.GetManagedFields()[0].FieldsV1.GetRawString(), created.GetManagedFields()[0].FieldsV1.GetRawString(); got != want {
		t.Errorf("got fields %s, want %s", got, want)
	}
	// The real server does not begin to record the fields of an object that has no managers.
	p = newPod("a")
	p.Labels = map[string]string{"a": "c"}
	if updated, _, err = pods.For(Caller{Manager: "m"}).Update("ns", "a", p, Checked); err != nil {
		t.Fatal(err)
	}
	expectManagers(t, updated)
}

// The managedFields of an update are merged with the state that it replaces, even if another client
// has written it meanwhile.
func TestConcurrentUpdatesRecordEachManager(t *testing.T) {
	pods := newPods(t)
	if _, err := pods.For(Caller{Manager: "creator"}).Create("ns", newPod("a"), Checked); err != nil {
		t.Fatal(err)
	}
	if _, err := pods.For(Caller{Manager: "creator"}).Patch("ns", "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"l":"x"}}}`), (*Store).Update, Checked); err != nil {
		t.Fatal(err)
	}
	const writers, patches = 4, 30
	var done sync.WaitGroup
	for w := range writers {
		done.Go(func() {
			s := pods.For(Caller{Manager: fmt.Sprint("w", w)})
			for i := range patches {
				current, err := s.Get("ns", "a", "", 0)
				if err != nil {
					t.Error(err)
					return
				}
				p := current.DeepCopyObject().(*corev1.Pod)
				p.ResourceVersion, p.ManagedFields = "", nil
				p.Annotations = map[string]string{fmt.Sprint("w", w): fmt.Sprint(i)}
				if _, _, err := s.Update("ns", "a", p, Checked); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	got, err := pods.Get("ns", "a", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for annotation := range got.GetAnnotations() {
		for _, entry := range got.GetManagedFields() {
			owns := strings.Contains(entry.FieldsV1.GetRawString(), `"f:`+annotation+`"`)
			if owns != (entry.Manager == annotation) {
				t.Errorf("annotation %s: manager %s owns it %v, in %v", annotation, entry.Manager, owns, got.GetManagedFields())
			}
		}
	}
}

// An update without a resourceVersion does not lose the managers of the state that it replaces.
func TestManagedFieldsOfAReplacedStateAreNotUsed(t *testing.T) {
	pods := newPods(t)
	if _, err := pods.For(Caller{Manager: "creator"}).Create("ns", labeledPod("a", "1"), Checked); err != nil {
		t.Fatal(err)
	}
	current, _ := pods.objects.Get("ns/a")
	early := pods.For(Caller{Manager: "late"}).recordEarly(labeledPod("a", "3"), func(next, _ history.Object) history.Object { return next })
	if _, _, err := pods.For(Caller{Manager: "other"}).Update("ns", "a", labeledPod("a", "2"), Checked); err != nil {
		t.Fatal(err)
	}
	replaced, _ := pods.objects.Get("ns/a")
	next := labeledPod("a", "3")
	pods.For(Caller{Manager: "late"}).recordUpdate(next, current, current, early)
	expectManagers(t, next, "creator Update", "late Update")
	next = labeledPod("a", "2")
	pods.For(Caller{Manager: "late"}).recordUpdate(next, replaced, replaced, early)
	expectManagers(t, next, "creator Update", "other Update")
}

func labeledPod(name, value string) *corev1.Pod {
	p := newPod(name)
	p.Labels = map[string]string{"l": value}
	return p
}

// configurationOf returns an applied configuration of a ConfigMap.
func configurationOf(name, data string) []byte {
	return fmt.Appendf(nil, "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {%s}}", name, data)
}

func newConfigMaps() *Store {
	return New(history.NewMemory(), resource.BuiltIn(), 0).ForResource(corev1.SchemeGroupVersion.WithResource("configmaps"))
}

// Appliers that create and update the same object at the same time all succeed.
func TestConcurrentAppliesAreNotLost(t *testing.T) {
	maps := newConfigMaps()
	const appliers = 8
	var done sync.WaitGroup
	for a := range appliers {
		done.Go(func() {
			s := maps.For(Caller{Manager: fmt.Sprint("a", a)})
			for {
				_, _, err := s.Apply("ns", "m", configurationOf("m", fmt.Sprintf("k%d: x", a)), false, (*Store).Update, Checked)
				if err == nil {
					return
				}
				if !apierrors.IsConflict(err) { // the attempts of one request may not suffice
					t.Error(err)
					return
				}
			}
		})
	}
	done.Wait()
	got, err := maps.Get("ns", "m", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	if m := got.(*corev1.ConfigMap); len(m.Data) != appliers || len(m.ManagedFields) != appliers {
		t.Errorf("got data %v of %d managers, want %d", m.Data, len(m.ManagedFields), appliers)
	}
}

// A configuration that changes nothing is not written, although its text may differ from the stored
// object and time has passed.
func TestUnchangedApplyIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := newPods(t)
		s := pods.For(Caller{Manager: "m"})
		config := []byte(`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1000m}}}]}}`)
		created, isNew, err := s.Apply("ns", "a", config, false, (*Store).Update, Checked)
		if err != nil || !isNew {
			t.Fatalf("created %v, %v", isNew, err)
		}
		if cpu := created.(*corev1.Pod).Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]; cpu.Cmp(apiresource.MustParse("1")) != 0 {
			t.Errorf("got cpu %v, want 1", cpu.String())
		}
		time.Sleep(time.Minute)
		again, isNew, err := s.Apply("ns", "a", config, false, (*Store).Update, Checked)
		if err != nil || isNew || again.GetResourceVersion() != created.GetResourceVersion() {
			t.Errorf("second apply: got version %s, created %v, %v; want version %s", again.GetResourceVersion(), isNew, err, created.GetResourceVersion())
		}
	})
}

// An entry of a version that does not exist is dropped.
func TestUnknownVersionOfManagerIsDropped(t *testing.T) {
	maps := newConfigMaps()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", ManagedFields: []metav1.ManagedFieldsEntry{
		{Manager: "old", Operation: "Apply", APIVersion: "v0", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:k":{}}}`)},
		{Manager: "new", Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:l":{}}}`)},
	}}, Data: map[string]string{"k": "1", "l": "1"}}
	if _, err := maps.Create("ns", m, Trusted); err != nil {
		t.Fatal(err)
	}
	got, _, err := maps.For(Caller{Manager: "me"}).Apply("ns", "m", configurationOf("m", "k: '2'"), false, (*Store).Update, Checked)
	if err != nil {
		t.Fatal(err)
	}
	expectManagers(t, got, "me Apply", "new Apply")
}

// A definition without a schema, which the real server refuses, has deduced types.
func TestApplyWithoutSchema(t *testing.T) {
	r := New(history.NewMemory(), resource.BuiltIn(), 0)
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "kind": "Widget"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true}},
		},
	}}
	if _, err := r.definitions().Create("", definition, Checked); err != nil {
		t.Fatal(err)
	}
	widgets := r.ForResource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
	for manager, field := range map[string]string{"a": "width", "b": "height"} {
		config := fmt.Appendf(nil, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {%s: 1}}", field)
		if _, _, err := widgets.For(Caller{Manager: manager}).Apply("ns", "w", config, false, (*Store).Update, Checked); err != nil {
			t.Fatal(err)
		}
	}
	got, err := widgets.Get("ns", "w", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	if spec := got.(*unstructured.Unstructured).Object["spec"]; fmt.Sprint(spec) != "map[height:1 width:1]" {
		t.Errorf("got spec %v", spec)
	}
}
