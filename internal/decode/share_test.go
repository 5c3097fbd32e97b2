// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fullPod returns the encoding of a Pod with all fields set.
func fullPod(tb testing.TB, seed int64) []byte {
	tb.Helper()
	return randomEncoding(tb, reflect.TypeFor[corev1.Pod](), seed, 1)
}

func decodePod(tb testing.TB, d *Decoder, raw []byte) *corev1.Pod {
	tb.Helper()
	object, err := d.Decode(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return object.(*corev1.Pod)
}

// addresses maps the address of each writable value that objects could share (behind a pointer, map
// or slice) to a path to it.
type addresses map[uintptr]string

// collect adds all values that v refers to. It calls found for those that another object refers to.
func (m addresses) collect(v reflect.Value, path string, found func(path string)) {
	add := func(size uintptr) bool {
		if size == 0 {
			return true
		}
		at := v.Pointer()
		if other, ok := m[at]; ok && other[:3] != path[:3] {
			found(path)
			return false
		}
		m[at] = path
		return true
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeOf(&v) && add(v.Type().Elem().Size()) {
			m.collect(v.Elem(), path, found)
		}
	case reflect.Slice:
		if v.Len() > 0 && add(v.Type().Elem().Size()) {
			for i := range v.Len() {
				m.collect(v.Index(i), fmt.Sprintf("%s[%d]", path, i), found)
			}
		}
	case reflect.Map:
		if !v.IsNil() && add(1) {
			for it := v.MapRange(); it.Next(); {
				m.collect(it.Value(), path+"["+it.Key().String()+"]", found)
			}
		}
	case reflect.Struct:
		if v.Type().Name() == "Time" || v.Type().Name() == "MicroTime" { // the location is shared by the whole process
			return
		}
		for i := range v.NumField() {
			m.collect(v.Field(i), path+"."+v.Type().Field(i).Name, found)
		}
	default:
	}
}

// sharedPaths returns the paths of the values that two objects share.
func sharedPaths(a, b any) (paths []string) {
	m := addresses{}
	found := func(path string) { paths = append(paths, path) }
	m.collect(reflect.ValueOf(a), "(1)", found)
	m.collect(reflect.ValueOf(b), "(2)", found)
	return paths
}

// TestDefaultSharesOnlyStringsAndManagedFields checks that, without ShareEqual, objects share no
// writable memory but the bytes of managedFields.
func TestDefaultSharesOnlyStringsAndManagedFields(t *testing.T) {
	for _, goType := range generatedTypes(t) {
		d := newDecoder(t, goType, Options{})
		raw := randomEncoding(t, goType, 1, 1)
		var objects []any
		for range 3 {
			object, err := d.Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			objects = append(objects, object)
		}
		for _, path := range sharedPaths(objects[1], objects[2]) {
			if !strings.Contains(path, ".ManagedFields[") || !strings.HasSuffix(path, ".FieldsV1.Raw") {
				t.Errorf("%s: two objects share %s", goType, path)
			}
		}
	}
}

func TestManagedFieldsAreShared(t *testing.T) {
	d := newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{})
	raw := fullPod(t, 1)
	a, b := decodePod(t, d, raw), decodePod(t, d, raw)
	rawA, rawB := a.ManagedFields[0].FieldsV1.Raw, b.ManagedFields[0].FieldsV1.Raw
	if &rawA[0] != &rawB[0] {
		t.Error("equal managedFields do not share memory")
	}
	if unsafe.StringData(a.Name) != unsafe.StringData(b.Name) {
		t.Error("equal strings do not share memory")
	}
}

// TestShareEqualSharesEqualParts also checks that equal parts of different messages are shared.
func TestShareEqualSharesEqualParts(t *testing.T) {
	d := newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{ShareEqual: true})
	pod := func(name string) []byte {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web", "tier": "front"}}}
		p.Spec.Containers = []corev1.Container{{
			Name: name, Args: []string{"--verbose", "--color"}, SecurityContext: &corev1.SecurityContext{Privileged: new(true), RunAsUser: new(int64(5))},
		}}
		p.Spec.Tolerations = []corev1.Toleration{{Key: "a"}, {Key: "b"}}
		return encodingOf(t, p)
	}
	a, b := decodePod(t, d, pod("a")), decodePod(t, d, pod("b"))
	shared := map[string]bool{
		"labels":          reflect.ValueOf(a.Labels).Pointer() == reflect.ValueOf(b.Labels).Pointer(),
		"args":            &a.Spec.Containers[0].Args[0] == &b.Spec.Containers[0].Args[0],
		"securityContext": a.Spec.Containers[0].SecurityContext == b.Spec.Containers[0].SecurityContext,
		"tolerations":     &a.Spec.Tolerations[0] == &b.Spec.Tolerations[0],
	}
	for name, ok := range shared {
		if !ok {
			t.Errorf("equal %s do not share memory", name)
		}
	}
	if &a.Spec.Containers[0] == &b.Spec.Containers[0] || b.Name != "b" || b.Spec.Containers[0].Name != "b" {
		t.Error("different containers or names are shared")
	}
	if tolerations := a.Spec.Tolerations; cap(tolerations) != len(tolerations) {
		t.Error("a shared slice has spare capacity")
	}
}

// TestMergingFieldsDoesNotChangeSharedParts decodes a Pod, and then an encoding that merges another
// Pod into equal parts.
func TestMergingFieldsDoesNotChangeSharedParts(t *testing.T) {
	raw := fullPod(t, 1)
	d := newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{ShareEqual: true})
	first := decodePod(t, d, raw)
	want := first.DeepCopy()
	twice := join(raw, fullPod(t, 2))
	checkDecode(t, twice, 2, d)
	checkDecode(t, raw, 1, d)
	if !reflect.DeepEqual(first, want) {
		t.Error("merging fields changed an object that shares parts")
	}
}

func TestConcurrentDecode(t *testing.T) {
	goType := reflect.TypeFor[corev1.Pod]()
	raws := make([][]byte, 12)
	want := make([]any, len(raws))
	for i := range raws {
		raws[i] = randomEncoding(t, goType, int64(i/2), 0.4) // each twice
		var err error
		if want[i], err = unmarshal(goType, raws[i]); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range newDecoders(t, goType) {
		var running sync.WaitGroup
		for g := range 6 {
			running.Go(func() {
				for n := range decodeRounds * len(raws) {
					i := (n + g) % len(raws)
					if got, err := d.Decode(raws[i]); err != nil || !reflect.DeepEqual(got, want[i]) {
						t.Errorf("Pod %d differs from the one that Unmarshal decodes, or error %v", i, err)
					}
				}
			})
		}
		running.Wait()
	}
}

func TestInputIsNotRetained(t *testing.T) {
	goType := reflect.TypeFor[corev1.Pod]()
	for _, d := range newDecoders(t, goType) {
		raw := fullPod(t, 3)
		want, _ := unmarshal(goType, raw)
		for range 2 {
			buffer := append([]byte(nil), raw...)
			got := decodePod(t, d, buffer)
			clear(buffer)
			if !reflect.DeepEqual(got, want) {
				t.Error("an object changed with the bytes that it was decoded from")
			}
		}
	}
}

func TestNewRejectsTypeWithoutUnmarshal(t *testing.T) {
	if _, err := New(reflect.TypeFor[struct{ Name string }](), Options{}); err == nil {
		t.Error("New accepts a type without Unmarshal")
	}
}

func TestErrorsNameField(t *testing.T) {
	d := newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{})
	_, err := d.Decode(bytesField(2, bytesField(2, bytesField(1, []byte("a")), varintField(2, 1))))
	if err == nil || !strings.HasPrefix(err.Error(), "Pod: Spec: Containers: Image: wrong wire type 0") {
		t.Errorf("error is %q", err)
	}
}
