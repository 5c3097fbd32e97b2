// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/layout"
	"github.com/kinformer/kinformer/internal/testing/randomapi"
)

// fullPod returns a Pod with fields of each kind.
func fullPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Labels: map[string]string{"x": "1"}, Annotations: map[string]string{"y": "2", "z": "3"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		},
		Spec: corev1.PodSpec{
			NodeName: "node", Hostname: "host", NodeSelector: map[string]string{"n": "1"},
			Containers: []corev1.Container{{Name: "main", Image: "web", Env: []corev1.EnvVar{{Name: "E"}}}, {Name: "side"}},
			Volumes: []corev1.Volume{
				{Name: "one", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}},
				{Name: "two", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}},
			},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Message: "text", Conditions: []corev1.PodCondition{{Type: "Ready", Reason: "r"}}},
	}
}

// TestOnlyKeptFieldsAreLeft cuts everything else out of an object, in protobuf and in JSON.
func TestOnlyKeptFieldsAreLeft(t *testing.T) {
	for name, test := range map[string]struct {
		kept, omitted string // separated by spaces
		want          func(from *corev1.Pod) *corev1.Pod
	}{
		"nothing": {"", "", func(*corev1.Pod) *corev1.Pod { return &corev1.Pod{} }},
		"a field": {"spec.nodeName", "", func(from *corev1.Pod) *corev1.Pod {
			return &corev1.Pod{Spec: corev1.PodSpec{NodeName: from.Spec.NodeName}}
		}},
		"a struct": {"status", "", func(from *corev1.Pod) *corev1.Pod { return &corev1.Pod{Status: from.Status} }},
		"a map": {"spec.nodeSelector", "", func(from *corev1.Pod) *corev1.Pod {
			return &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: from.Spec.NodeSelector}}
		}},
		"of elements": {"spec.containers.name status.conditions.reason", "", func(*corev1.Pod) *corev1.Pod {
			return &corev1.Pod{
				Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}, {Name: "side"}}},
				Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Reason: "r"}}},
			}
		}},
		"of an inlined struct": {"spec.volumes.configMap", "", func(from *corev1.Pod) *corev1.Pod {
			return &corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: from.Spec.Volumes[0].VolumeSource}, {}}}}
		}},
		"with annotations omitted": {"spec.nodeName", "metadata.annotations[y] metadata.labels", func(from *corev1.Pod) *corev1.Pod {
			delete(from.Annotations, "y")
			from.Labels = nil
			return &corev1.Pod{Spec: corev1.PodSpec{NodeName: from.Spec.NodeName}}
		}},
		"with others omitted": {"status.phase", "spec.containers.env spec.hostname status.message", func(from *corev1.Pod) *corev1.Pod {
			return &corev1.Pod{Status: corev1.PodStatus{Phase: from.Status.Phase}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			fields, err := Keep(partialOf(t, podType, test.kept), strings.Fields(test.omitted))
			if err != nil {
				t.Fatal(err)
			}
			from := fullPod()
			want := test.want(from)
			want.ObjectMeta = from.ObjectMeta
			want.ManagedFields = nil
			protobuf, raw := randomapi.Encode(t, fullPod())
			cut, ok := fields.AppendProtobuf(nil, protobuf, layout.Object{})
			got := &corev1.Pod{}
			if err := got.Unmarshal(cut.Bytes); err != nil || !ok {
				t.Fatalf("protobuf: %v, %v", err, ok)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("protobuf (-want +got):\n%s", diff)
			}
			if cut, ok = fields.AppendJSON(nil, raw, layout.Object{}); !ok {
				t.Error("JSON: not edited")
			}
			got = &corev1.Pod{}
			if err := json.Unmarshal(cut.Bytes, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("JSON (-want +got):\n%s", diff)
			}
			if missing := fields.NotFound(); missing != nil {
				t.Errorf("not found: %q", missing)
			}
		})
	}
}

// partialOf returns the fields of a type at paths, which are separated by spaces.
func partialOf(t *testing.T, goType reflect.Type, paths string) *Partial {
	t.Helper()
	root := &Node{keep: true}
	if goType != unstructuredType {
		root.Type = goType.Elem()
	}
	for _, path := range strings.Fields(paths) {
		at := root
		for name := range strings.SplitSeq(path, ".") {
			at.keep = true
			next, err := at.step(segment{name: name}, "")
			if err != nil {
				t.Fatal(err)
			}
			at = next
		}
		at.whole = true
	}
	return &Partial{Root: root}
}

// TestKeptFieldsOfUnstructuredObjects cuts JSON of which no Go type is known.
func TestKeptFieldsOfUnstructuredObjects(t *testing.T) {
	fields, err := Keep(partialOf(t, unstructuredType, "color status.parts.name"), []string{"metadata.labels[x]", "metadata.annotations[a]", "spec.size", "status.absent"})
	if err != nil {
		t.Fatal(err)
	}
	raw := `{"apiVersion":"v1","kind":"W","metadata":{"name":"a","labels":{"x":"1"},"managedFields":[]},"color":{"r":1},"spec":{"size":1,"weight":2},` +
		`"status":{"parts":[{"name":"p","n":1},{"n":2},3],"phase":"Running"},"other":null}`
	want := `{"apiVersion":"v1","kind":"W","metadata":{"name":"a"},"color":{"r":1},"status":{"parts":[{"name":"p"},{},3]}}`
	cut, ok := fields.AppendJSON(nil, []byte(raw), layout.Object{})
	if !ok || string(cut.Bytes) != want {
		t.Errorf("left %s, %v, want %s", cut.Bytes, ok, want)
	}
	if missing := fields.NotFound(); missing != nil {
		t.Errorf("not found: %q, of which nothing would be left", missing)
	}
}

// TestKeptFieldsCannotBeOmitted names what a path would cut.
func TestKeptFieldsCannotBeOmitted(t *testing.T) {
	kept := partialOf(t, podType, "spec.containers.name spec.volumes.configMap status spec.nodeSelector")
	for path, want := range map[string]string{
		"spec":                        "has a field below it",
		"spec.containers":             "has a field below it",
		"spec.containers.name":        "has spec.containers.name",
		"spec.volumes.configMap":      "has spec.volumes.configMap",
		"spec.volumes.configMap.name": "has spec.volumes.configMap",
		"status.phase":                "has status",
		"spec.nodeSelector[a]":        "has spec.nodeSelector",
		"spec.hostname":               "",
		"spec.volumes.secret":         "",
	} {
		_, err := Keep(kept, []string{path})
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"`+path+`"`)) {
			t.Errorf("omitting %s returned %v, want %q", path, err, want)
		}
	}
}

// podInside is a Pod with other struct tags: none.
type podInside struct{ corev1.Pod }

// TestFieldsWithoutNumberAreNotCutFromProtobuf edits objects of a type that decodes itself.
func TestFieldsWithoutNumberAreNotCutFromProtobuf(t *testing.T) {
	goType := reflect.TypeFor[*podInside]()
	for _, kept := range []string{"", "spec.nodeName"} {
		fields, err := Keep(partialOf(t, goType, kept), nil)
		if err != nil {
			t.Fatal(err)
		}
		if edited, ok := fields.AppendProtobuf([]byte("before"), []byte{10, 0}, layout.Object{}); ok || string(edited.Bytes) != "before" {
			t.Errorf("edited to %q", edited.Bytes)
		}
	}
}

// family contains itself.
type family struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Parent   *family  `json:"parent"`
	Children []family `json:"children"`
	Age      int      `json:"age"`
	Height   int      `json:"height"`
}

// partOfFamily has fewer fields than a family.
type partOfFamily struct {
	Age      int            `json:"age"`
	Children []partOfFamily `json:"children"`
	Parent   *struct {
		Children []partOfFamily `json:"children"`
	} `json:"parent"`
}

// TestStructInsideItselfIsLeftWhole cuts fields only outside of the struct that contains itself,
// and copies those at any depth.
func TestStructInsideItselfIsLeftWhole(t *testing.T) {
	part, err := Resolve(reflect.TypeFor[*family](), reflect.TypeFor[partOfFamily]())
	if err != nil {
		t.Fatal(err)
	}
	fields, err := Keep(part, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw := `{"height":3,"children":[{"age":1,"children":[{"age":0,"height":1}]}],"age":2,"parent":{"age":4,"children":[{"height":3}]}}`
	want := `{"children":[{"age":1,"children":[{"age":0,"height":1}]}],"age":2,"parent":{"children":[{"height":3}]}}`
	if cut, ok := fields.AppendJSON(nil, []byte(raw), layout.Object{}); !ok || string(cut.Bytes) != want {
		t.Errorf("left %s, %v, want %s", cut.Bytes, ok, want)
	}
	var whole family
	var decoded, copied partOfFamily
	if err := errors.Join(json.Unmarshal([]byte(raw), &whole), json.Unmarshal([]byte(raw), &decoded)); err != nil {
		t.Fatal(err)
	}
	if part.Copy(&copied, &whole); !reflect.DeepEqual(copied, decoded) {
		t.Errorf("copied %+v, want %+v", copied, decoded)
	}
}
