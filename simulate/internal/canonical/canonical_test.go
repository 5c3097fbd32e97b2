// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package canonical_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/simulate/internal/canonical"
)

// pod returns a Pod with a generated name and an owner, as a server stores it.
func pod(name, uid, image string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", GenerateName: "web-", Name: name, UID: types.UID(uid), ResourceVersion: uid, Generation: 3,
			CreationTimestamp: metav1.Now(), ManagedFields: []metav1.ManagedFieldsEntry{{Manager: uid}},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "owner-" + types.UID(uid)}},
			Annotations:     map[string]string{"at": "2026-11-26T10:00:0" + uid + "Z"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

// claim returns an object that names a Pod.
func claim(podName string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "claim"},
		Data: map[string]string{"pod": podName},
	}
}

func stateOf(t *testing.T, ignored []string, objects ...canonical.Object) canonical.State {
	t.Helper()
	fields, err := canonical.Ignore(ignored)
	if err != nil {
		t.Fatal(err)
	}
	state, err := canonical.Of(slices.Values(objects), fields)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func TestWhatServerAssignsIsNoDifference(t *testing.T) {
	want := stateOf(t, nil, pod("web-abcde", "1", "a"), pod("web-fghij", "2", "b"), claim("web-abcde"))
	got := stateOf(t, nil, claim("web-zzzzz"), pod("web-bbbbb", "8", "b"), pod("web-zzzzz", "9", "a"))
	// The owners differ in their UIDs only.
	if lines := canonical.Diff(want, got); len(lines) > 0 {
		t.Errorf("got differences\n%s", strings.Join(lines, "\n"))
	}
}

// A volume, or a bucket, is often named by the UID of the object that it is for.
func TestUIDInNameIsNoDifference(t *testing.T) {
	state := func(uid, other string) canonical.State {
		of := claim("pvc-" + uid)
		of.UID = types.UID(uid)
		of.Data["volume-"+other], of.Data["bucket-"+uid] = "other", uid+"/data"
		return stateOf(t, nil, of)
	}
	const one, two = "0b1c2d3e-0000-4000-8000-000000000001", "0b1c2d3e-0000-4000-8000-000000000002"
	if lines := canonical.Diff(state(one, "x"), state(two, "x")); len(lines) > 0 {
		t.Errorf("got differences\n%s", strings.Join(lines, "\n"))
	}
	if lines := canonical.Diff(state(one, two), state(two, one)); len(lines) != 2 {
		t.Errorf("got differences\n%s\nwant those of the UIDs that no object has", strings.Join(lines, "\n"))
	}
}

func TestDifferences(t *testing.T) {
	for _, test := range []struct {
		name      string
		want, got []canonical.Object
		ignored   []string
		lines     []string
	}{
		{"missing", []canonical.Object{claim("a"), pod("web-aaaaa", "1", "a")}, []canonical.Object{claim("a")}, nil, []string{"Pod ns/web-*1 is missing, and is there in the undisturbed run"}},
		{"number of a StatefulSet", []canonical.Object{pod("web-0", "1", "a"), pod("web-1", "2", "a")}, []canonical.Object{pod("web-1", "2", "a")}, nil, []string{"Pod ns/web-0 is missing, and is there in the undisturbed run"}},
		{"too many", []canonical.Object{claim("a")}, []canonical.Object{claim("a"), pod("web-aaaaa", "1", "a")}, nil, []string{"Pod ns/web-*1 is there, and not in the undisturbed run"}},
		{"field", []canonical.Object{claim("a")}, []canonical.Object{claim("b")}, nil, []string{`ConfigMap ns/claim: data.pod is "b", and "a" in the undisturbed run`}},
		{"another of two generated", []canonical.Object{pod("web-aaaaa", "1", "a"), pod("web-bbbbb", "2", "b"), claim("web-aaaaa")}, []canonical.Object{pod("web-aaaaa", "1", "a"), pod("web-bbbbb", "2", "b"), claim("web-bbbbb")}, nil, []string{`ConfigMap ns/claim: data.pod is "web-*2", and "web-*1" in the undisturbed run`}},
		{"no field", []canonical.Object{claim("a")}, []canonical.Object{&corev1.ConfigMap{TypeMeta: claim("").TypeMeta, ObjectMeta: claim("").ObjectMeta}}, nil, []string{`ConfigMap ns/claim: no data.pod, which is "a" in the undisturbed run`}},
		{"ignored", []canonical.Object{claim("a")}, []canonical.Object{claim("b")}, []string{"data"}, nil},
		{"ignored in one kind", []canonical.Object{claim("a")}, []canonical.Object{claim("b")}, []string{"ConfigMap data.pod"}, nil},
		{"ignored in another kind", []canonical.Object{claim("a")}, []canonical.Object{claim("b")}, []string{"Pod data.pod"}, []string{`ConfigMap ns/claim: data.pod is "b", and "a" in the undisturbed run`}},
		{"ignored is no prefix", []canonical.Object{claim("a")}, []canonical.Object{claim("b")}, []string{"data.po"}, []string{`ConfigMap ns/claim: data.pod is "b", and "a" in the undisturbed run`}},
		{"ignored in all items", []canonical.Object{pod("web-aaaaa", "1", "a")}, []canonical.Object{pod("web-aaaaa", "1", "b")}, []string{"spec.containers[*].image"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := canonical.Diff(stateOf(t, test.ignored, test.want...), stateOf(t, test.ignored, test.got...))
			if !slices.Equal(got, test.lines) {
				t.Errorf("got %q, want %q", got, test.lines)
			}
		})
	}
}

// The order of items with names says nothing, except for those that are used in their order.
func TestOrderOfNamedItemsIsNoDifference(t *testing.T) {
	containers := func(names ...string) []corev1.Container {
		var all []corev1.Container
		for _, name := range names {
			all = append(all, corev1.Container{Name: name, Image: name})
		}
		return all
	}
	for _, test := range []struct {
		name      string
		want, got corev1.PodSpec
		lines     int
	}{
		{"named", corev1.PodSpec{Containers: containers("a", "b")}, corev1.PodSpec{Containers: containers("b", "a")}, 0},
		{"another image", corev1.PodSpec{Containers: containers("a", "b")}, corev1.PodSpec{Containers: []corev1.Container{{Name: "b", Image: "c"}, {Name: "a", Image: "a"}}}, 1},
		{"names not unique", corev1.PodSpec{Containers: containers("a", "b", "b")}, corev1.PodSpec{Containers: containers("b", "a", "b")}, 4},
		{"in order", corev1.PodSpec{InitContainers: containers("a", "b")}, corev1.PodSpec{InitContainers: containers("b", "a")}, 4},
	} {
		want, got := pod("web-aaaaa", "1", "a"), pod("web-aaaaa", "1", "a")
		want.Spec, got.Spec = test.want, test.got
		if lines := canonical.Diff(stateOf(t, nil, want), stateOf(t, nil, got)); len(lines) != test.lines {
			t.Errorf("%s: got %d differences, want %d: %q", test.name, len(lines), test.lines, lines)
		}
	}
}

// The order of finalizers, conditions and owners says nothing.
func TestOrderOfSetsIsNoDifference(t *testing.T) {
	conditions := func(obj *corev1.Pod, order ...corev1.PodConditionType) *corev1.Pod {
		for _, name := range order {
			obj.Status.Conditions = append(obj.Status.Conditions, corev1.PodCondition{Type: name})
			obj.Finalizers = append(obj.Finalizers, "example.com/"+string(name))
		}
		return obj
	}
	want := stateOf(t, nil, conditions(pod("web-aaaaa", "1", "a"), "Ready", "Scheduled"))
	if lines := canonical.Diff(want, stateOf(t, nil, conditions(pod("web-aaaaa", "1", "a"), "Scheduled", "Ready"))); len(lines) > 0 {
		t.Errorf("got differences %q", lines)
	}
}

// custom returns an object of a custom resource.
func custom(fields map[string]any) *unstructured.Unstructured {
	object := map[string]any{"kind": "Website", "metadata": map[string]any{"name": "a"}}
	maps.Copy(object, fields)
	return &unstructured.Unstructured{Object: object}
}

// What looks alike at first sight may say the opposite.
func TestEmptyAndRepeatedItemsAreDifferences(t *testing.T) {
	spec := func(value any) *unstructured.Unstructured {
		return custom(map[string]any{"spec": map[string]any{"ingress": value}})
	}
	owners := func(uids ...string) *unstructured.Unstructured {
		var references []any
		for _, uid := range uids {
			references = append(references, map[string]any{"kind": "Pod", "name": "p", "uid": uid})
		}
		return custom(map[string]any{"metadata": map[string]any{"name": "a", "ownerReferences": references}})
	}
	for name, pair := range map[string][2]*unstructured.Unstructured{
		"an empty item":        {spec([]any{map[string]any{}}), spec([]any{})},
		"an empty selector":    {spec(map[string]any{}), spec(nil)},
		"an owner of the past": {owners("1"), owners("1", "2")},
	} {
		if lines := canonical.Diff(stateOf(t, nil, pair[0]), stateOf(t, nil, pair[1])); len(lines) == 0 {
			t.Errorf("%s: no difference", name)
		}
	}
}

// named returns an object with labels, as a server stores it.
func named(kind, name string, labels map[string]any, fields map[string]any) *unstructured.Unstructured {
	object := custom(fields)
	object.Object["kind"] = kind
	object.Object["metadata"] = map[string]any{"name": name, "labels": labels}
	return object
}

// set returns a StatefulSet with two revisions, revision one of them, and member a Pod of one.
func set(current, update string) *unstructured.Unstructured {
	return named("StatefulSet", "db", nil, map[string]any{"status": map[string]any{"currentRevision": "db-" + current, "updateRevision": "db-" + update}})
}

func revision(hash string) *unstructured.Unstructured {
	return named("ControllerRevision", "db-"+hash, map[string]any{"controller.kubernetes.io/hash": hash}, nil)
}

func member(hash string) *unstructured.Unstructured {
	return named("Pod", "db-0", map[string]any{"controller-revision-hash": "db-" + hash}, nil)
}

// A template with a time has another hash in each run.
func TestHashesOfTemplates(t *testing.T) {
	replicaSet := func(hash string, replicas int64) *unstructured.Unstructured {
		return named("ReplicaSet", "web-"+hash, map[string]any{"pod-template-hash": hash}, map[string]any{"spec": map[string]any{"replicas": replicas}})
	}
	replica := func(hash, letters string) *unstructured.Unstructured {
		obj := named("Pod", "web-"+hash+"-"+letters, map[string]any{"pod-template-hash": hash}, nil)
		obj.SetGenerateName("web-" + hash + "-")
		return obj
	}
	for _, test := range []struct {
		name      string
		want, got []canonical.Object
		lines     []string
	}{
		{"another hash", []canonical.Object{set("1", "1"), member("1"), revision("1")}, []canonical.Object{set("2", "2"), member("2"), revision("2")}, nil},
		{"a Pod that is not updated", []canonical.Object{set("1", "2"), member("2")}, []canonical.Object{set("3", "4"), member("3")}, []string{
			`Pod db-0: metadata.labels.controller-revision-hash is "db-(current revision)", and "db-(update revision)" in the undisturbed run`,
		}},
		{"an update that goes on", []canonical.Object{set("1", "1")}, []canonical.Object{set("1", "2")}, []string{
			`StatefulSet db: status.currentRevision is "db-(current revision)", and "db-(update revision)" in the undisturbed run`,
		}},
		{
			"ReplicaSets in another order",
			[]canonical.Object{replicaSet("a", 0), replicaSet("b", 1), replica("b", "xxxxx")},
			[]canonical.Object{replicaSet("c", 1), replicaSet("d", 0), replica("c", "yyyyy")}, nil,
		},
		{
			"a Pod of the other ReplicaSet",
			[]canonical.Object{replicaSet("a", 0), replicaSet("b", 1), replica("b", "xxxxx")},
			[]canonical.Object{replicaSet("a", 0), replicaSet("b", 1), replica("a", "xxxxx")},
			[]string{"Pod web-(hash 1)-*1 is there, and not in the undisturbed run", "Pod web-(hash 2)-*1 is missing, and is there in the undisturbed run"},
		},
		{"a hash in another word", []canonical.Object{set("1", "1"), claim("a1")}, []canonical.Object{set("2", "2"), claim("a2")}, []string{
			`ConfigMap ns/claim: data.pod is "a2", and "a1" in the undisturbed run`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := canonical.Diff(stateOf(t, nil, test.want...), stateOf(t, nil, test.got...))
			if !slices.Equal(got, test.lines) {
				t.Errorf("got %q, want %q", got, test.lines)
			}
		})
	}
}

// in returns an object in a Namespace.
func in(namespace string, obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj.SetNamespace(namespace)
	return obj
}

// Equal templates have one hash, whatever their Namespace is.
func TestOneHashInTwoNamespaces(t *testing.T) {
	replicaSet := func(hash string) *unstructured.Unstructured {
		return named("ReplicaSet", "web-"+hash, map[string]any{"pod-template-hash": hash}, nil)
	}
	for _, test := range []struct {
		name      string
		want, got []canonical.Object
		lines     int
	}{
		{
			"a ReplicaSet is missing, and is there in the undisturbed run",
			[]canonical.Object{in("a", replicaSet("new")), in("b", replicaSet("new")), in("b", replicaSet("old"))},
			[]canonical.Object{in("a", replicaSet("new")), in("b", replicaSet("new"))}, 1,
		},
		{
			"a revision is missing, and is there in the undisturbed run",
			[]canonical.Object{in("a", set("old", "old")), in("b", set("new", "new")), in("b", revision("old")), in("b", revision("new"))},
			[]canonical.Object{in("a", set("old", "old")), in("b", set("new", "new")), in("b", revision("new"))}, 3,
		},
		{
			"a Pod that is not updated",
			[]canonical.Object{in("a", set("old", "old")), in("b", set("new", "new")), in("b", revision("old")), in("b", member("new"))},
			[]canonical.Object{in("a", set("old", "old")), in("b", set("new", "new")), in("b", revision("old")), in("b", member("old"))}, 1,
		},
		{
			"other hashes",
			[]canonical.Object{in("a", set("old", "old")), in("b", set("old", "new")), in("b", revision("old")), in("b", member("old")), in("b", replicaSet("old"))},
			[]canonical.Object{in("a", set("1", "1")), in("b", set("1", "2")), in("b", revision("1")), in("b", member("1")), in("b", replicaSet("1"))}, 0,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if lines := canonical.Diff(stateOf(t, nil, test.want...), stateOf(t, nil, test.got...)); len(lines) != test.lines {
				t.Errorf("got %d differences, want %d: %q", len(lines), test.lines, lines)
			}
		})
	}
}

func TestObservedGenerationIsNoDifference(t *testing.T) {
	status := func(generation int64) *unstructured.Unstructured {
		return custom(map[string]any{"status": map[string]any{
			"observedGeneration": generation, "conditions": []any{map[string]any{"type": "Ready", "observedGeneration": generation}},
		}})
	}
	if lines := canonical.Diff(stateOf(t, nil, status(1)), stateOf(t, nil, status(2))); len(lines) > 0 {
		t.Errorf("got differences %q", lines)
	}
}

func TestIgnoreRefusesAnEmptyPath(t *testing.T) {
	for _, field := range []string{"", "Pod ", "Pod status podIP"} {
		if _, err := canonical.Ignore([]string{field}); err == nil {
			t.Errorf("%q: no error", field)
		}
	}
}
