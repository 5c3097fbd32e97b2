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

// pod is a Pod that has everything, in its encoding.
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

// memory collects the addresses of what objects could share and somebody could
// write into: what is behind pointers, maps and slices. Strings are not.
type addresses map[uintptr]string

// collect adds what v refers to. It calls met for what is there already.
func (m addresses) collect(v reflect.Value, path string, met func(path string)) {
	refer := func(size uintptr) bool {
		if size == 0 {
			return true
		}
		at := v.Pointer()
		if other, ok := m[at]; ok && other[:3] != path[:3] {
			met(path)
			return false
		}
		m[at] = path
		return true
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeOf(&v) && refer(v.Type().Elem().Size()) {
			m.collect(v.Elem(), path, met)
		}
	case reflect.Slice:
		if v.Len() > 0 && refer(v.Type().Elem().Size()) {
			for i := range v.Len() {
				m.collect(v.Index(i), fmt.Sprintf("%s[%d]", path, i), met)
			}
		}
	case reflect.Map:
		if !v.IsNil() && refer(1) {
			for it := v.MapRange(); it.Next(); {
				m.collect(it.Value(), path+"["+it.Key().String()+"]", met)
			}
		}
	case reflect.Struct:
		if v.Type().Name() == "Time" || v.Type().Name() == "MicroTime" { // their location is the process's
			return
		}
		for i := range v.NumField() {
			m.collect(v.Field(i), path+"."+v.Type().Field(i).Name, met)
		}
	default:
	}
}

// sharedBy returns what two objects share.
func sharedPaths(a, b any) (paths []string) {
	m := addresses{}
	met := func(path string) { paths = append(paths, path) }
	m.collect(reflect.ValueOf(a), "(1)", met)
	m.collect(reflect.ValueOf(b), "(2)", met)
	return paths
}

// TestDefaultSharesNothingWritable holds that whoever writes into an object writes
// into no other, but for the bytes of managedFields.
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
		t.Error("the bytes of equal managedFields are in memory twice")
	}
	if unsafe.StringData(a.Name) != unsafe.StringData(b.Name) {
		t.Error("equal strings are in memory twice")
	}
}

// TestShareEqual holds that equal parts are found, and that one which differs does
// not hide those inside it.
func TestShareEqualSharesEqualParts(t *testing.T) {
	d := newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{ShareEqual: true})
	pod := func(name string) []byte {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web", "tier": "front"}}}
		p.Spec.Containers = []corev1.Container{{
			Name: name, Args: []string{"--verbose", "--color"}, SecurityContext: &corev1.SecurityContext{Privileged: new(true), RunAsUser: new(int64(5))},
		}}
		p.Spec.Tolerations = []corev1.Toleration{{Key: "a"}, {Key: "b"}}
		raw, err := p.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	a, b := decodePod(t, d, pod("a")), decodePod(t, d, pod("b"))
	shared := map[string]bool{
		"labels":          reflect.ValueOf(a.Labels).Pointer() == reflect.ValueOf(b.Labels).Pointer(),
		"args":            &a.Spec.Containers[0].Args[0] == &b.Spec.Containers[0].Args[0],
		"securityContext": a.Spec.Containers[0].SecurityContext == b.Spec.Containers[0].SecurityContext,
		"tolerations":     &a.Spec.Tolerations[0] == &b.Spec.Tolerations[0],
	}
	for what, ok := range shared {
		if !ok {
			t.Errorf("equal %s are in memory twice", what)
		}
	}
	if &a.Spec.Containers[0] == &b.Spec.Containers[0] || b.Name != "b" || b.Spec.Containers[0].Name != "b" {
		t.Error("Pods that differ share what differs")
	}
	if tolerations := a.Spec.Tolerations; cap(tolerations) != len(tolerations) {
		t.Error("append to a shared slice writes behind it")
	}
}

// TestMergedLeavesSharedAlone decodes a Pod whose parts others share, and then the
// same parts with more of them merged in.
func TestMergingFieldsDoesNotChangeSharedParts(t *testing.T) {
	raw := fullPod(t, 1)
	d := newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{ShareEqual: true})
	first := decodePod(t, d, raw)
	want := first.DeepCopy()
	twice := join(raw, fullPod(t, 2))
	agree(t, d, twice)
	agree(t, d, twice)
	agree(t, d, raw)
	if !reflect.DeepEqual(first, want) {
		t.Error("merging into another object has changed one that shares parts with it")
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
	for _, d := range decodersOf(t, goType) {
		var running sync.WaitGroup
		for g := range 6 {
			running.Go(func() {
				for n := range 10 * len(raws) {
					i := (n + g) % len(raws)
					if got, err := d.Decode(raws[i]); err != nil || !reflect.DeepEqual(got, want[i]) {
						t.Errorf("Pod %d is another one than alone, or %v", i, err)
					}
				}
			})
		}
		running.Wait()
	}
}

func TestInputIsNotRetained(t *testing.T) {
	goType := reflect.TypeFor[corev1.Pod]()
	for _, d := range decodersOf(t, goType) {
		raw := fullPod(t, 3)
		want, _ := unmarshal(goType, raw)
		for range 2 {
			buffer := append([]byte(nil), raw...)
			got := decodePod(t, d, buffer)
			clear(buffer)
			if !reflect.DeepEqual(got, want) {
				t.Error("an object has changed with the bytes that it was decoded from")
			}
		}
	}
}

func TestNewRejectsTypeWithoutUnmarshal(t *testing.T) {
	if _, err := New(reflect.TypeFor[struct{ Name string }](), Options{}); err == nil {
		t.Error("New takes a type that has no Unmarshal")
	}
}

func TestErrorsNameTheField(t *testing.T) {
	d := newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{})
	_, err := d.Decode(bytesField(2, bytesField(2, bytesField(1, []byte("a")), varintField(2, 1))))
	if err == nil || !strings.HasPrefix(err.Error(), "Pod: Spec: Containers: Image: wrong wire type 0") {
		t.Errorf("the error is %q", err)
	}
}
