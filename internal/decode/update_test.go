// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/protowire"
)

// checkUpdate compares DecodeUpdate with Decode.
func checkUpdate(tb testing.TB, d *Decoder, oldRaw, newRaw []byte) {
	tb.Helper()
	t := d.plan.root.goType
	wantOld, err := d.Decode(oldRaw)
	want, newErr := d.Decode(newRaw)
	if err == nil {
		err = newErr
	}
	a, b := bytes.Clone(oldRaw), bytes.Clone(newRaw)
	old, updated, updateErr := d.DecodeUpdate(a, b)
	clear(a)
	clear(b)
	if (updateErr == nil) != (err == nil) {
		tb.Fatalf("%s: DecodeUpdate returns %v, Decode %v\n%x\n%x", t, updateErr, err, oldRaw, newRaw)
	}
	if err != nil {
		return
	}
	if !reflect.DeepEqual(old, wantOld) || !reflect.DeepEqual(updated, want) {
		tb.Fatalf("%s, ShareEqual %v: DecodeUpdate differs from Decode\n%x\n%x", t, d.shared != nil, oldRaw, newRaw)
	}
}

// TestUpdateDecodesLikeItsStates decodes pairs of states of all types: random ones, which are equal
// in parts, and such that differ in a few bytes or fields.
func TestUpdateDecodesLikeItsStates(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, goType := range generatedTypes(t) {
		decoders := newDecoders(t, goType)
		for seed := range int64(objectsPerType) {
			raw, other := randomEncoding(t, goType, seed, 0.5), randomEncoding(t, goType, seed+1, 1)
			for _, d := range decoders {
				checkUpdate(t, d, raw, other)
				checkUpdate(t, d, other, raw)
				checkChangedUpdates(t, d, random, raw, mutate(random, raw))
				for range updateRounds {
					checkChangedUpdates(t, d, random, raw, mutateFields(random, raw))
				}
			}
		}
	}
}

// checkChangedUpdates checks updates to a changed encoding, from it, and to another change of it.
func checkChangedUpdates(tb testing.TB, d *Decoder, random *rand.Rand, raw, changed []byte) {
	tb.Helper()
	again := mutateFields(random, changed)
	if hasSlowQuantity(changed) || hasSlowQuantity(again) {
		return
	}
	checkUpdate(tb, d, raw, changed)
	checkUpdate(tb, d, changed, raw)
	checkUpdate(tb, d, changed, again)
}

// mutateFields returns a copy of a message, or of one inside it, with fields that are moved,
// repeated, deleted, of another wire type, with a longer tag, or with changed bytes.
func mutateFields(random *rand.Rand, raw []byte) []byte {
	fields := splitFields(raw)
	if len(fields) == 0 {
		return mutate(random, raw)
	}
	i, j := random.IntN(len(fields)), random.IntN(len(fields))
	f := fields[i]
	tag, value, _ := protowire.Varint(f, 0)
	switch random.IntN(12) {
	case 0:
		fields[i], fields[j] = fields[j], f
	case 1:
		fields = slices.Insert(fields, j, f)
	case 2:
		fields = slices.Insert(fields, i, mutateFields(random, f))
	case 3:
		fields = slices.Delete(fields, i, i+1)
	case 4:
		fields[i] = append(binary.AppendUvarint(nil, tag&^7|uint64(random.IntN(6))), f[value:]...)
	case 5:
		fields[i] = join(f[:value-1], []byte{f[value-1] | 0x80, 0}, f[value:])
	case 6: // numbers become packed ones, of which the last may not end
		fields[i] = bytesField(int(tag>>3), f[value:len(f)-random.IntN(2)])
	default:
		if tag&7 != protowire.TypeBytes {
			fields[i] = mutate(random, f)
			break
		}
		from, to, _ := protowire.Bounds(f, value)
		fields[i] = bytesField(int(tag>>3), mutateFields(random, f[from:to]))
	}
	return join(fields...)
}

// splitFields returns the fields of a message, nil if it is none.
func splitFields(raw []byte) (fields [][]byte) {
	for i := 0; i < len(raw); {
		tag, value, err := protowire.Varint(raw, i)
		if err != nil {
			return nil
		}
		_, wire, err := protowire.SplitTag(tag)
		if err != nil {
			return nil
		}
		end, err := protowire.Skip(raw, value, wire)
		if err != nil {
			return nil
		}
		fields = append(fields, raw[i:end])
		i = end
	}
	return fields
}

// FuzzDecodeUpdate compares DecodeUpdate with Decode for one of testedTypes.
func FuzzDecodeUpdate(f *testing.F) {
	types := testedTypes()
	decoders := make([][]*Decoder, len(types))
	random := rand.New(rand.NewPCG(1, 1))
	for n, goType := range types {
		decoders[n] = newDecoders(f, goType)
		raw := randomEncoding(f, goType, 1, 0.15)
		f.Add(byte(n), raw, mutateFields(random, raw))
	}
	for _, c := range nonstandard() {
		n := byte(slices.Index(types, c.goType))
		f.Add(n, c.raw, c.raw)
		f.Add(n, mutateFields(random, c.raw), c.raw)
	}
	f.Fuzz(func(t *testing.T, n byte, oldRaw, newRaw []byte) {
		if hasSlowQuantity(oldRaw) || hasSlowQuantity(newRaw) {
			return
		}
		for _, d := range decoders[int(n)%len(types)] {
			checkUpdate(t, d, oldRaw, newRaw)
		}
	})
}

// TestUpdateOfNonstandardInput decodes pairs of encodings that no Kubernetes component writes,
// alone and beside the same other fields. A field that occurs twice has another value than its
// first encoding.
func TestUpdateOfNonstandardInput(t *testing.T) {
	for name, c := range nonstandard() {
		for otherName, other := range nonstandard() {
			if c.goType != other.goType {
				continue
			}
			t.Run(name+" to "+otherName, func(t *testing.T) {
				for _, d := range newDecoders(t, c.goType) {
					checkUpdate(t, d, c.raw, other.raw)
					checkUpdate(t, d, c.raw, join(c.raw, other.raw))
					checkUpdate(t, d, join(c.raw, other.raw), c.raw)
				}
			})
		}
	}
}

// TestUpdateSharesEqualParts also checks that a slice that is shared has no spare capacity, into
// which programs with both states would append.
func TestUpdateSharesEqualParts(t *testing.T) {
	old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "a", ResourceVersion: "1", Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"a": "b"}, Finalizers: []string{"f"},
	}}
	old.Spec.Containers = []corev1.Container{{Name: "main", Args: []string{"--verbose"}, SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(5))}}}
	old.Spec.SecurityContext = &corev1.PodSecurityContext{SupplementalGroups: []int64{1, 2, 3}}
	old.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	updated := old.DeepCopy()
	updated.ResourceVersion, updated.Annotations["a"], updated.Status.Conditions[0].Status = "2", "c", corev1.ConditionTrue
	a, b, err := newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{}).DecodeUpdate(encodingOf(t, old), encodingOf(t, updated))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(sharedPaths(a, b), " ")
	const want = "(2).ObjectMeta.Labels (2).ObjectMeta.Finalizers (2).Spec.Containers (2).Spec.SecurityContext"
	if got != want {
		t.Errorf("shared are %s, want %s", got, want)
	}
	if pod := b.(*corev1.Pod); cap(pod.Finalizers) != 1 || cap(pod.Spec.Containers) != 1 || cap(pod.Spec.SecurityContext.SupplementalGroups) != 3 || !reflect.DeepEqual(pod, updated) {
		t.Errorf("the new state is %v, want %v", pod, updated)
	}
}

// TestSharedSlicesHaveNoSpareCapacity checks that a program that appends to a slice of one state
// writes nothing that it sees in the other.
func TestSharedSlicesHaveNoSpareCapacity(t *testing.T) {
	for _, goType := range generatedTypes(t) {
		object := reflect.New(goType).Interface().(generatedMessage)
		newFiller(1, 1).NumElements(3, 3).MaxDepth(8).Fill(object)
		raw := encodingOf(t, object)
		for _, d := range newDecoders(t, goType) {
			_, updated, err := d.DecodeUpdate(raw, raw)
			if err != nil {
				t.Fatal(err)
			}
			checkCapacity(t, reflect.ValueOf(updated), goType.String())
		}
	}
}

// checkCapacity reports slices with spare capacity in a value.
func checkCapacity(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*time.Location]() {
			checkCapacity(t, v.Elem(), path)
		}
	case reflect.Slice:
		if v.Cap() != v.Len() {
			t.Errorf("%s has %d elements and a capacity of %d", path, v.Len(), v.Cap())
		}
		for i := range v.Len() {
			checkCapacity(t, v.Index(i), path)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			checkCapacity(t, it.Value(), path)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[resource.Quantity]() {
			return // programs cannot append to its digits
		}
		for field, value := range v.Fields() {
			checkCapacity(t, value, path+"."+field.Name)
		}
	default:
	}
}
