// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// fieldsBySchema returns an object's fields according to the API server's schema.
func fieldsBySchema(t *testing.T, object runtime.Object) *fieldpath.Set {
	t.Helper()
	typed, err := applyconfigurations.NewTypeConverter(scheme.Scheme).ObjectToTyped(object)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := typed.ToFieldSet()
	if err != nil {
		t.Fatal(err)
	}
	return fields.Leaves()
}

// managed returns the fields of all managers except the scheduler, whose fields have been changed
// since.
func managed(t *testing.T, entries []metav1.ManagedFieldsEntry) *fieldpath.Set {
	t.Helper()
	all := &fieldpath.Set{}
	for _, e := range entries {
		if e.Manager == managerScheduler {
			continue
		}
		fields := &fieldpath.Set{}
		if err := fields.FromJSON(strings.NewReader(e.FieldsV1.GetRawString())); err != nil {
			t.Fatalf("%s: %v in %s", e.Manager, err, e.FieldsV1.GetRawString())
		}
		all = all.Union(fields)
	}
	return all.Leaves()
}

// unmanaged reports whether a field is set by the API server or an admission plugin, without a
// manager.
func unmanaged(path string) bool {
	for _, part := range []string{
		".metadata.", ".apiVersion", ".kind", ".spec.nodeName", ".spec.priority", ".spec.preemptionPolicy", ".spec.tolerations",
		".status.qosClass", "kube-api-access-", "/var/run/secrets/kubernetes.io", `type="PodScheduled"`,
	} {
		if strings.Contains(path, part) {
			return true
		}
	}
	return false
}

func TestManagedFieldsOfPods(t *testing.T) {
	for i := range 30 {
		pod := NewPods(1, 5).Pod(i)
		pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		fields, claimed := fieldsBySchema(t, pod), managed(t, pod.ManagedFields)
		if wrong := claimed.Difference(fields); !wrong.Empty() {
			t.Errorf("managed fields that Pod %d does not have:\n%s", i, wrong)
		}
		fields.Difference(claimed).Iterate(func(path fieldpath.Path) {
			if !unmanaged(path.String()) {
				t.Errorf("field of Pod %d without a manager: %s", i, path)
			}
		})
	}
}

func TestManagedFieldsOfNodes(t *testing.T) {
	for i := range 5 {
		node := NewNodes(5).Node(i)
		node.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
		if wrong := managed(t, node.ManagedFields).Difference(fieldsBySchema(t, node)); !wrong.Empty() {
			t.Errorf("managed fields that node %d does not have:\n%s", i, wrong)
		}
	}
}

func TestPodsHaveTwoToFourManagers(t *testing.T) {
	counts := map[int]int{}
	for _, pod := range NewPods(1, 1).Take(200) {
		counts[len(pod.ManagedFields)]++
		if first, last := pod.ManagedFields[0].Manager, pod.ManagedFields[len(pod.ManagedFields)-1].Manager; first != managerController || last != managerKubelet {
			t.Fatalf("first manager %s, last %s, want %s, %s", first, last, managerController, managerKubelet)
		}
	}
	if counts[2] == 0 || counts[3] == 0 || counts[4] == 0 || len(counts) != 3 {
		t.Errorf("Pods by number of managers: %v, want 2, 3 and 4", counts)
	}
}
