// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/wire"
)

// itemOf returns the item of an object's bytes.
func itemOf(t testing.TB, raw []byte, format wire.Format) feed.Item {
	t.Helper()
	parsed, err := wire.Parse(raw, format)
	if err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	metadata, at, err := parsed.Identify()
	if err != nil {
		t.Fatal(err)
	}
	return feed.Item{Key: metadata.Key, UID: metadata.UID, ResourceVersion: metadata.ResourceVersion, Raw: raw, Layout: at}
}

func jsonItem(t testing.TB, raw string) feed.Item { return itemOf(t, []byte(raw), wire.JSON) }

// writtenPod returns a Pod that two managers have written.
func writtenPod() *corev1.Pod {
	at := metav1.Unix(1000, 0)
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Namespace: "ns", UID: "1", ResourceVersion: "5", Generation: 1, Labels: map[string]string{"generation": "no number"},
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "m", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)},
				{Manager: "k", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at, Subresource: "status"},
			},
		},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "c"}}},
	}
}

// forms returns a Pod in each form in which it is received.
func forms(t testing.TB, pod *corev1.Pod) map[string]feed.Item {
	t.Helper()
	typed, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := utiljson.Unmarshal(typed, &content); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(content) // as API servers write custom resources
	if err != nil {
		t.Fatal(err)
	}
	protobuf, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]feed.Item{
		"JSON":                 itemOf(t, typed, wire.JSON),
		"JSON, sorted":         itemOf(t, sorted, wire.JSON),
		"protobuf":             itemOf(t, protobuf, wire.Protobuf),
		"decoded":              {Received: pod},
		"decoded unstructured": {Received: &unstructured.Unstructured{Object: content}},
	}
}

// evidenceBetween returns what two states of an object show in each form.
func evidenceBetween(t testing.TB, a, b *corev1.Pod) map[string]Evidence {
	t.Helper()
	found, others := make(map[string]Evidence), forms(t, b)
	for name, item := range forms(t, a) {
		found[name] = StampOf(item).evidence(StampOf(others[name]))
	}
	return found
}

// TestStampIsThatOfTheWrite checks that a write shows in each form, and that what servers change
// when they read an object does not.
func TestStampIsThatOfTheWrite(t *testing.T) {
	later, second := metav1.Unix(1001, 0), int64(30)
	for name, c := range map[string]struct {
		edit func(*corev1.Pod)
		want Evidence
	}{
		"nothing":             {func(*corev1.Pod) {}, None},
		"a time":              {func(p *corev1.Pod) { p.ManagedFields[1].Time = &later }, OtherWrite},
		"a manager":           {func(p *corev1.Pod) { p.ManagedFields[0].Manager = "n" }, OtherWrite},
		"an operation":        {func(p *corev1.Pod) { p.ManagedFields[0].Operation = metav1.ManagedFieldsOperationApply }, OtherWrite},
		"a subresource":       {func(p *corev1.Pod) { p.ManagedFields[0].Subresource = "scale" }, OtherWrite},
		"fields":              {func(p *corev1.Pod) { p.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(`{"f:status":{}}`) }, OtherWrite},
		"a generation":        {func(p *corev1.Pod) { p.Generation = 2 }, OtherWrite},
		"a deletion":          {func(p *corev1.Pod) { p.DeletionTimestamp = &later }, OtherWrite},
		"a binding":           {func(p *corev1.Pod) { p.Spec.NodeName = "n2" }, OtherWrite},
		"a default in spec":   {func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = &second }, None},
		"a default in status": {func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, None},
		"a label":             {func(p *corev1.Pod) { p.Labels["x"] = "y" }, None},
		"an annotation":       {func(p *corev1.Pod) { p.Annotations = map[string]string{"managedFields": `"generation":5`} }, None},
		"no kind":             {func(p *corev1.Pod) { p.TypeMeta = metav1.TypeMeta{} }, None},
		"another API version": {func(p *corev1.Pod) { p.APIVersion = "v2" }, None},
	} {
		edited := writtenPod()
		c.edit(edited)
		for form, found := range evidenceBetween(t, writtenPod(), edited) {
			if found != c.want {
				t.Errorf("%s, %s: evidence %v, want %v", name, form, found, c.want)
			}
		}
	}
}

// TestContentsStandForAMissingStamp checks objects without a time in managedFields.
func TestContentsStandForAMissingStamp(t *testing.T) {
	for name, strip := range map[string]func(*corev1.Pod){
		"no managedFields": func(p *corev1.Pod) { p.ManagedFields = nil },
		"no time": func(p *corev1.Pod) {
			for i := range p.ManagedFields {
				p.ManagedFields[i].Time = nil
			}
		},
	} {
		for edited, c := range map[string]struct {
			edit func(*corev1.Pod)
			want Evidence
		}{
			"nothing": {func(*corev1.Pod) {}, None},
			"no kind": {func(p *corev1.Pod) { p.TypeMeta = metav1.TypeMeta{} }, None},
			"a label": {func(p *corev1.Pod) { p.Labels["x"] = "y" }, OtherContents},
		} {
			a, b := writtenPod(), writtenPod()
			strip(a)
			strip(b)
			c.edit(b)
			for form, found := range evidenceBetween(t, a, b) {
				if found != c.want {
					t.Errorf("%s, %s, %s: evidence %v, want %v", name, edited, form, found, c.want)
				}
			}
		}
	}
}

// TestKindIsNoContent checks where apiVersion and kind may be in JSON.
func TestKindIsNoContent(t *testing.T) {
	const metadata = `"metadata":{"name":"a"}`
	want := StampOf(jsonItem(t, "{"+metadata+`,"spec":1}`))
	for _, raw := range []string{
		`{"apiVersion":"v1","kind":"A",` + metadata + `,"spec":1}`,
		`{"kind":"A","apiVersion":"v1",` + metadata + `,"spec":1}`,
		`{"apiVersion":"v1",` + metadata + `,"kind":"A","spec":1}`,
		`{` + metadata + `,"spec":1,"apiVersion":"v1","kind":"A"}`,
		`{` + metadata + `,"spec":1,"kind":"A"}`,
	} {
		if got := StampOf(jsonItem(t, raw)); got != want {
			t.Errorf("%s has another stamp", raw)
		}
	}
	for _, raw := range []string{`{"kind":"A","apiVersion":"v1"}`, `{"kind":"A"}`, `{"apiVersion":"v1"}`, `{}`} {
		if got := StampOf(jsonItem(t, raw)); got != StampOf(jsonItem(t, "{}")) {
			t.Errorf("%s has another stamp than {}", raw)
		}
	}
}

// TestEqualContentsAndSameWrite compares decoded objects.
func TestEqualContentsAndSameWrite(t *testing.T) {
	without := writtenPod()
	without.TypeMeta = metav1.TypeMeta{}
	if !EqualContents(writtenPod(), without) || !EqualContents(dynamic(t, writtenPod()), dynamic(t, without)) {
		t.Error("objects with and without a kind differ")
	}
	if without.Kind != "" || writtenPod().Kind != "Pod" {
		t.Error("an object was changed")
	}
	decorated := writtenPod()
	decorated.Labels["x"] = "y"
	if EqualContents(writtenPod(), decorated) || EqualContents(without, decorated) || !SameWrite(writtenPod(), decorated) {
		t.Error("a label is no difference of contents, or one of writes")
	}
	for _, stripped := range []*corev1.Pod{{}, {ObjectMeta: metav1.ObjectMeta{Name: "a"}}} {
		if SameWrite(stripped, stripped) {
			t.Error("objects without managedFields are known to be of one write")
		}
	}
	if SameWrite("a", "a") || !EqualContents("a", "a") {
		t.Error("strings are compared as objects")
	}
}

func dynamic(t *testing.T, pod *corev1.Pod) *unstructured.Unstructured {
	t.Helper()
	return forms(t, pod)["decoded unstructured"].Received.(*unstructured.Unstructured)
}

// BenchmarkStamp measures what a stamp adds to an event of 5 kB, and to the least event.
func BenchmarkStamp(b *testing.B) {
	pod := writtenPod()
	pod.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{` + strings.TrimSuffix(strings.Repeat(`"f:field":{},`, 150), ",") + `}}`)
	for i := range 10 {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: fmt.Sprint(i), Image: strings.Repeat("x", 200)})
	}
	for name, item := range forms(b, pod) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				StampOf(item)
			}
		})
	}
}

// TestDefaultOfAnotherKindIsNoNodeName compares kinds in which the number of the field of a Pod's
// nodeName is another one, for which newer servers have a default.
func TestDefaultOfAnotherKindIsNoNodeName(t *testing.T) {
	set, job := &appsv1.StatefulSet{ObjectMeta: writtenPod().ObjectMeta}, &batchv1.Job{ObjectMeta: writtenPod().ObjectMeta}
	newerSet, newerJob := set.DeepCopy(), job.DeepCopy()
	newerSet.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: "Retain", WhenScaled: "Retain"}
	newerJob.Spec.Suspend = new(false)
	for _, objects := range [][2]interface{ Marshal() ([]byte, error) }{{set, newerSet}, {job, newerJob}} {
		older, err := objects[0].Marshal()
		newer, err2 := objects[1].Marshal()
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if found := StampOf(itemOf(t, older, wire.Protobuf)).evidence(StampOf(itemOf(t, newer, wire.Protobuf))); found != None {
			t.Errorf("%T: evidence %v", objects[0], found)
		}
	}
}
