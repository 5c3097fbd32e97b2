// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"

	"github.com/kinformer/kinformer/internal/testing/randomapi"
)

// randomPath returns a path into an object, through fields and keys that it has, if possible.
func randomPath(r *rand.Rand, v reflect.Value) string {
	path := ""
	for {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8 {
			switch {
			case v.Kind() == reflect.Slice && v.Len() > 0:
				v = v.Index(r.IntN(v.Len()))
			case v.Kind() == reflect.Pointer && !v.IsNil():
				v = v.Elem()
			default:
				v = reflect.Zero(v.Type().Elem())
			}
		}
		switch {
		case path != "" && r.IntN(3) == 0:
			return path
		case v.Kind() == reflect.Struct && v.NumField() > 0 && v.Type() != reflect.TypeFor[metav1.Time]():
			field := v.Type().Field(r.IntN(v.NumField()))
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if v = v.FieldByIndex(field.Index); name != "" {
				path = strings.TrimPrefix(path+"."+name, ".")
			}
		case v.Kind() == reflect.Map && v.Len() > 0:
			key := v.MapKeys()[r.IntN(v.Len())]
			path += "[" + key.String() + "]"
			v = v.MapIndex(key)
		default:
			return path
		}
	}
}

// randomOmitted returns one to three random fields of an object. Of the paths, it drops those that
// cannot be omitted.
func randomOmitted(r *rand.Rand, obj runtime.Object) (fields *Omitted, paths []string) {
	for range 1 + r.IntN(3) {
		path := randomPath(r, reflect.ValueOf(obj))
		if r.IntN(8) == 0 {
			path = "metadata.managedFields"
		}
		more, err := Omit(reflect.TypeOf(obj), append(paths[:len(paths):len(paths)], path), true)
		if err == nil {
			fields, paths = more, append(paths, path)
		}
	}
	return fields, paths
}

const objectsPerType = 12

// TestCutOutEqualsCleared compares, for every type of client-go's scheme, objects whose bytes were
// edited with objects that were edited after decoding.
func TestCutOutEqualsCleared(t *testing.T) {
	compared := 0
	for i, goType := range randomapi.Types(t) {
		for j := range objectsPerType {
			seed := int64(i*objectsPerType + j)
			obj := randomapi.New(goType, seed)
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			fields, paths := randomOmitted(r, obj)
			if fields == nil {
				continue
			}
			compared++
			name := fmt.Sprintf("%s without %q, seed %d", goType, paths, seed)
			checkProtobuf(t, name, fields, obj)
			checkTypedJSON(t, name, fields, obj)
			checkUnstructured(t, name, paths, obj)
		}
	}
	if compared < 1500 {
		t.Errorf("compared %d objects, want at least 1500", compared)
	}
}

func checkProtobuf(t *testing.T, name string, fields *Omitted, obj randomapi.Object) {
	t.Helper()
	raw, _ := randomapi.Encode(t, obj)
	decode := func(raw []byte) (runtime.Object, error) {
		decoded := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(randomapi.Object)
		return decoded, decoded.Unmarshal(raw)
	}
	checkEdited(t, name+", protobuf", fields, raw, fields.AppendProtobuf, decode)
}

func checkTypedJSON(t *testing.T, name string, fields *Omitted, obj randomapi.Object) {
	t.Helper()
	_, raw := randomapi.Encode(t, obj)
	decode := func(raw []byte) (runtime.Object, error) {
		decoded := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(randomapi.Object)
		return decoded, kjson.UnmarshalCaseSensitivePreserveInts(raw, decoded)
	}
	checkEdited(t, name+", typed JSON", fields, raw, fields.AppendJSON, decode)
}

func checkUnstructured(t *testing.T, name string, paths []string, obj randomapi.Object) {
	t.Helper()
	fields, err := Omit(reflect.TypeFor[*unstructured.Unstructured](), paths, true)
	if err != nil { // such as a path through a map with numbers as keys
		return
	}
	raw, err := json.Marshal(obj)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	checkEdited(t, name+", unstructured", fields, raw, fields.AppendJSON, decodeUnstructured)
}

func decodeUnstructured(raw []byte) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	return u, utiljson.Unmarshal(raw, &u.Object)
}

// checkEdited compares an object decoded from edited bytes with the same decoded first, and checks
// that the original is unchanged.
func checkEdited(t *testing.T, name string, fields *Omitted, raw []byte,
	edit editFunc, decode func([]byte) (runtime.Object, error),
) {
	t.Helper()
	whole, err := decode(raw)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	original := whole.DeepCopyObject()
	want := fields.Without(whole)
	if !reflect.DeepEqual(whole, original) {
		t.Fatalf("%s: Without has modified the object: %s", name, cmp.Diff(original, whole))
	}
	const before = "before"
	at := layoutOf(raw)
	result, ok := edit([]byte(before), raw, at)
	if !ok {
		t.Fatalf("%s: the bytes were not edited", name)
	}
	edited := result.Bytes
	checkLayout(t, raw, edited[len(before):], at, result.Layout)
	got, err := decode(edited[len(before):])
	if err != nil {
		t.Fatalf("%s: edited bytes: %v\n%s", name, err, edited)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: edited bytes (-) differ from the edited object (+): %s", name, cmp.Diff(got, want))
	}
	if again := fields.Without(got); again != got && !reflect.DeepEqual(again, got) {
		t.Fatalf("%s: fields are left in %v", name, got)
	}
}

// TestPodWithoutEverythingOptional omits a field of each kind and names what must be left.
func TestPodWithoutEverythingOptional(t *testing.T) {
	fields, err := Omit(reflect.TypeFor[*corev1.Pod](), []string{
		"metadata.managedFields", "metadata.annotations[a.b/c]", "metadata.labels[only]", "spec.containers.env",
		"spec.volumes.configMap.items", "spec.nodeName", "status.conditions",
	}, true)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", UID: "u", Labels: map[string]string{"only": "1"},
			Annotations:   map[string]string{"a.b/c": "1", "d": "2"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		},
		Spec: corev1.PodSpec{
			NodeName:   "n",
			Containers: []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "e"}}}, {Name: "d"}},
			Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{Items: []corev1.KeyToPath{{Key: "k"}}},
			}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady}}},
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", Annotations: map[string]string{"d": "2"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c"}, {Name: "d"}},
			Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if got := fields.Without(pod); !reflect.DeepEqual(got, want) {
		t.Error(cmp.Diff(got, want))
	}
	checkProtobuf(t, "Pod", fields, pod)
	checkTypedJSON(t, "Pod", fields, pod)
}
