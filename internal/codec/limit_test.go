// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/internal/decode"
	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
	"github.com/kinformer/kinformer/internal/testing/randomapi"
	"github.com/kinformer/kinformer/internal/wire"
)

// legitimate returns objects that take much memory for their bytes.
func legitimate() map[string]randomapi.Object {
	meta := metav1.ObjectMeta{Name: "a", Namespace: "ns", UID: "u", ResourceVersion: "1"}
	volumes := &corev1.Pod{ObjectMeta: meta}
	containers := &corev1.Pod{ObjectMeta: meta}
	for i := range 100 {
		name := fmt.Sprintf("v%d", i)
		volumes.Spec.Volumes = append(volumes.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		containers.Spec.Containers = append(containers.Spec.Containers, corev1.Container{
			Name:      name,
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1")}},
		})
	}
	fields := &corev1.ConfigMap{ObjectMeta: meta}
	for i := range 100 {
		fields.ManagedFields = append(fields.ManagedFields, metav1.ManagedFieldsEntry{Manager: fmt.Sprint(i), FieldsV1: &metav1.FieldsV1{
			Raw: []byte(`{"f:data":{` + strings.Repeat(`"f:a":{},`, 20) + `"f:b":{}}}`),
		}})
	}
	config := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{}}
	for i := range 2000 {
		config.Data[fmt.Sprint(i)] = "x"
	}
	return map[string]randomapi.Object{
		"a Pod of 100 emptyDir volumes": volumes,
		"a Pod of 100 containers":       containers,
		"managedFields":                 fields,
		"a ConfigMap of 2,000 values":   config,
		"an Event":                      &corev1.Event{ObjectMeta: meta, Reason: "r", Message: "m"},
		"a Lease":                       &coordinationv1.Lease{ObjectMeta: meta, Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32(1))}},
	}
}

// TestEstimatesOfLegitimateObjects compares the estimates with what decoding allocates: they are no
// less. The largest one, in multiples of the object's bytes, is a quarter of the default limit.
func TestEstimatesOfLegitimateObjects(t *testing.T) {
	for name, obj := range legitimate() {
		protobuf, text := randomapi.Encode(t, obj)
		typed := NewDecoders(ObjectType{GoType: reflect.TypeOf(obj)}, Options{})
		untyped := NewDecoders(ObjectType{GoType: reflect.TypeFor[*unstructured.Unstructured]()}, Options{})
		decoder, err := typed.protobuf()
		if err != nil {
			t.Fatal(err)
		}
		const noLimit = 1 << 30
		for _, c := range []struct {
			format   string
			raw      []byte
			decoders *Decoders
			estimate int
		}{
			{"protobuf", protobuf, typed, decoder.Allocates(protobuf, noLimit)},
			{"JSON", text, typed, decode.JSONAllocates(text, typed.memoryCheck.largest, noLimit)},
			{"unstructured", text, untyped, decode.JSONAllocates(text, 0, noLimit)},
		} {
			format := wire.JSON
			if c.format == "protobuf" {
				format = wire.Protobuf
			}
			codec := c.decoders.ForList().For(&wire.Item{Format: format})
			allocated := allocatedBy(t, func() error {
				_, err := codec.Decode(c.raw)
				return err
			})
			ratio := float64(c.estimate) / float64(len(c.raw))
			t.Logf("%s, %s: %d bytes, allocated %.1f times, estimated %.1f times", name, c.format, len(c.raw), float64(allocated)/float64(len(c.raw)), ratio)
			if ratio > decodedFactor/4 {
				t.Errorf("%s, %s: the estimate is %.1f times its bytes, want %d at most", name, c.format, ratio, decodedFactor/4)
			}
			if allocated > c.estimate+(64<<10) {
				t.Errorf("%s, %s: %d bytes allocated %d, and the estimate is %d", name, c.format, len(c.raw), allocated, c.estimate)
			}
		}
	}
}

// allocatedBy returns how much a function allocates, after a first call that fills tables.
func allocatedBy(t *testing.T, f func() error) int {
	t.Helper()
	var allocated uint64
	for range 2 {
		allocated = memory.Allocated(func() {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		})
	}
	return int(allocated)
}

// foreignPod is decoded by its Unmarshal method, as it is no type of Kubernetes.
type foreignPod struct{ corev1.Pod }

// TestHostileObjectsAreNotDecoded decodes objects of many empty elements, of 20 kB, with a limit of
// a megabyte. Text that has the same bytes in strings is no element.
func TestHostileObjectsAreNotDecoded(t *testing.T) {
	pods := ObjectType{GoType: reflect.TypeFor[*corev1.Pod]()}
	many := func(element string) string { return strings.TrimSuffix(strings.Repeat(element+",", 5000), ",") }
	message := []byte{18, 0} // spec
	for range 5000 {
		message = append(message, 18, 0) // an empty container
	}
	long := len(message) - 2
	message = append([]byte{18, byte(long&0x7f | 0x80), byte(long >> 7)}, message[2:]...)
	for name, c := range map[string]struct {
		objects ObjectType
		format  wire.Format
		raw     string
		refused bool
	}{
		"empty containers":            {pods, wire.JSON, `{"spec":{"containers":[` + many("{}") + `]}}`, true},
		"containers that are null":    {pods, wire.JSON, `{"spec":{"containers":[` + many("null") + `]}}`, true},
		"empty containers, protobuf":  {pods, wire.Protobuf, string(message), true},
		"empty containers, no plan":   {ObjectType{GoType: reflect.TypeFor[*foreignPod]()}, wire.Protobuf, string(message), true},
		"a text, no plan":             {ObjectType{GoType: reflect.TypeFor[*foreignPod]()}, wire.Protobuf, "\x0a\x04\x0a\x02ab\xa2\x06\x80\x50" + strings.Repeat("text ", 2048), false},
		"empty objects, unstructured": {ObjectType{GoType: reflect.TypeFor[*unstructured.Unstructured]()}, wire.JSON, `{"kind":"A","apiVersion":"v1","a":[` + many("{}") + `]}`, true},
		"a text":                      {pods, wire.JSON, `{"metadata":{"annotations":{"a":"` + many("{}") + `"}}}`, false},
		"a text, unstructured":        {ObjectType{GoType: reflect.TypeFor[*unstructured.Unstructured]()}, wire.JSON, `{"kind":"A","apiVersion":"v1","a":"` + many("{}") + `"}`, false},
	} {
		codec := NewDecoders(c.objects, Options{Decoded: NewDecodedLimit(1 << 20)}).ForList().For(&wire.Item{Format: c.format})
		if _, err := codec.Decode([]byte(c.raw)); errors.Is(err, ErrDecoded) != c.refused || err != nil && !c.refused {
			t.Errorf("%s: Decode returned %v", name, err)
		}
	}
}

// TestDecodedLimitOfALength checks the default limit.
func TestDecodedLimitOfALength(t *testing.T) {
	for length, want := range map[int]int{0: 4 << 20, 1000: 4 << 20, 100_000: 51_200_000, 16 << 20: 512 << 20} {
		if got := NewDecodedLimit(0).of(length); got != want {
			t.Errorf("the limit of %d bytes is %d, want %d", length, got, want)
		}
	}
	if got := NewDecodedLimit(7).of(1 << 20); got != 7 {
		t.Errorf("the limit is %d, want 7", got)
	}
}

// TestSmallObjectsAreNotEstimated checks that objects of less than 1 MiB are decoded without an
// estimate before.
func TestSmallObjectsAreNotEstimated(t *testing.T) {
	pods := newMemoryCheck(ObjectType{GoType: reflect.TypeFor[*corev1.Pod]()}, NewDecodedLimit(0))
	for length, want := range map[int]bool{6000: false, 1 << 20: false, 1<<20 + 1: true} {
		estimated := false
		if err := pods.run(make([]byte, length), func(int) int {
			estimated = true
			return 0
		}); err != nil || estimated != want {
			t.Errorf("an object of %d bytes: estimated is %v, %v", length, estimated, err)
		}
	}
}
