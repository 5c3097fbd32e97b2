// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
)

// nested is a type that contains itself, as apiextensions' JSONSchemaProps does.
type nested struct {
	Child    *nested           `protobuf:"bytes,1,opt,name=child"`
	Children []nested          `protobuf:"bytes,2,rep,name=children"`
	Named    map[string]nested `protobuf:"bytes,3,rep,name=named"`
}

func (*nested) Unmarshal([]byte) error { panic("the plan decodes it") }

// nestedDecoder returns a Decoder for nested, which is planned as if it were of Kubernetes.
func nestedDecoder(t *testing.T) *Decoder {
	t.Helper()
	p, err := planOf(planKey{object: reflect.TypeFor[nested]()}, planNested)
	if err != nil {
		t.Fatal(err)
	}
	return decoderOf(p, Options{})
}

func planNested(c *compiler) (*messagePlan, error) {
	goType := reflect.TypeFor[nested]()
	root := &messagePlan{goType: goType, name: "nested", walk: newWalk(goType), open: true}
	c.messages[goType] = root
	if !c.planFields(root) {
		return nil, errors.New("the type is not supported")
	}
	root.walk.addFields(root)
	return root, nil
}

// nest returns messages inside each other. field returns one whose content ends in n bytes.
func nest(depth int, field func(n int) []byte) []byte {
	heads, size := make([][]byte, depth), 0
	for i := range heads {
		heads[i] = field(size)
		size += len(heads[i])
	}
	raw := make([]byte, 0, size)
	for i := range heads {
		raw = append(raw, heads[depth-1-i]...)
	}
	return raw
}

// nestingFields are the heads of fields in which a nested or a tree contains another, of n bytes.
func nestingFields() map[string]func(n int) []byte {
	head := func(number, n int) []byte { return binary.AppendUvarint([]byte{byte(number<<3 | 2)}, uint64(n)) }
	return map[string]func(n int) []byte{
		"pointer": func(n int) []byte { return head(1, n) },
		"slice":   func(n int) []byte { return head(2, n) },
		"map": func(n int) []byte {
			value := head(2, n)
			return append(head(3, len(value)+n), value...)
		},
		"skipped": func(n int) []byte { return head(5, n) },
	}
}

// TestNestingIsBounded decodes messages that are nested a little too deep, in a pointer, a slice
// and a map. Two million of them would end the process, as Go's stack is bounded. Fields that the
// type does not have are skipped at any depth.
func TestNestingIsBounded(t *testing.T) {
	for name, field := range nestingFields() {
		d := nestedDecoder(t)
		for depth, want := range map[int]bool{100: true, maxNesting - 1: true, maxNesting: name == "skipped", 2_000_000: name == "skipped"} {
			raw := nest(depth, field)
			var err error
			memory.ExpectProportional(t, min(len(raw), 10*maxNesting), 200, func() { _, err = d.Decode(raw) })
			if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "nested deeper than 10000 levels") {
				t.Errorf("%s of depth %d: error %v", name, depth, err)
			}
			checkUpdate(t, d, nil, raw)
			if checked := d.Check(raw); (checked == nil) != want {
				t.Errorf("%s of depth %d: Check returns %.200v, Decode %.200v", name, depth, checked, err)
			}
		}
	}
}

// TestInterleavedFieldsAreDecodedInLinearTime decodes a message whose repeated fields take turns,
// so that none of them is in one piece.
func TestInterleavedFieldsAreDecodedInLinearTime(t *testing.T) {
	d := newDecoder(t, reflect.TypeFor[corev1.PodSpec](), Options{})
	const n = 10_000
	raw := []byte(strings.Repeat("\x12\x00\xa2\x01\x00", n)) // containers and initContainers
	container := int(reflect.TypeFor[corev1.Container]().Size())
	memory.ExpectProportional(t, n, 2*4*container, func() {
		got, err := d.Decode(raw)
		if err != nil || len(got.(*corev1.PodSpec).Containers) != n || len(got.(*corev1.PodSpec).InitContainers) != n {
			t.Errorf("error %v, want %d containers", err, n)
		}
	})
	var want corev1.PodSpec
	if err := want.Unmarshal(raw[:1000]); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Decode(raw[:1000]); err != nil || !reflect.DeepEqual(got, &want) {
		t.Errorf("Decode differs from Unmarshal: %v", err)
	}
}

// slowQuantities are quantities that apimachinery parses for seconds to hours.
var slowQuantities = []string{"1e-10000000", "0.1e-2147483647", ".1E-999999", "+1e-100000", "-0.5e-100000", strings.Repeat("9", 2000), "0." + strings.Repeat("1", 2000)}

// TestSlowQuantityIsRejected decodes objects with quantities that apimachinery parses for hours.
func TestSlowQuantityIsRejected(t *testing.T) {
	d := newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{})
	for _, quantity := range slowQuantities {
		field := func(number int, content string) string {
			return string(binary.AppendUvarint([]byte{byte(number<<3 | 2)}, uint64(len(content)))) + content
		}
		limits := field(1, field(1, "cpu")+field(2, field(1, quantity)))
		raw := []byte(field(2, field(2, string(binary.AppendUvarint([]byte{0x42}, uint64(len(limits))))+limits)))
		for name, read := range map[string]func([]byte) error{
			"Decode": func(b []byte) error { _, err := d.Decode(b); return err },
			"Check":  d.Check,
		} {
			memory.ExpectProportional(t, len(raw), 100, func() {
				if err := read(raw); err == nil || !strings.Contains(err.Error(), "quantity has too many digits") {
					t.Errorf("%s of quantity %.20s: error %.200v", name, quantity, err)
				}
			})
		}
		for _, document := range []string{`{"a":"` + quantity + `"}`, `{"a":"  ` + quantity + ` "}`, `{"a":` + quantity + `}`, `{"a":[ ` + quantity + ` ]}`, "{\"a\":\"\u00a0\u2003" + quantity + "\u3000\"}"} {
			if err := CheckQuantities([]byte(document)); err == nil {
				t.Errorf("CheckQuantities(%.40s) returned no error", document)
			}
		}
	}
	for _, valid := range []string{
		`{"a":"1e-9"}`, `{"a":"1e-99999"}`, `{"uid":"4711e-1234567"}`, `{"uid":"d720a1e1-8f1e-4b1e-1234567890ab"}`, `{"a":"1e-1234567x"}`,
		`{"a":"x1e-1234567"}`, `{"a":"` + strings.Repeat("9", 900) + `"}`, `{"a":"` + strings.Repeat("1234567890 ", 900) + `"}`, "", "-", "1e-1234567",
		`{"ticket":"E-1234567"}`, `{"a":"see e-1234567, too"}`, `{"a":"of 24e-1234567, too"}`, `{"a":"{\"a\":\"1e-1234567\"}"}`,
		`{"uid":"12345678-1234-4234-923e-123456789012"}`, `{"a":"v` + strings.Repeat("9", 5000) + `"}`,
	} {
		err := CheckQuantities([]byte(valid))
		if slow := valid == `{"uid":"4711e-1234567"}`; (err != nil) != slow {
			t.Errorf("CheckQuantities(%.40s) = %v", valid, err)
		}
	}
}

// FuzzQuantity parses quantities that are not rejected. They need little memory.
func FuzzQuantity(f *testing.F) {
	for _, quantity := range append(slowQuantities, "1", "100m", "1Gi", "1.5", "1e9", "1e-9", "-0.000000001") {
		f.Add(quantity)
	}
	d := newDecoder(f, reflect.TypeFor[resource.Quantity](), Options{})
	f.Fuzz(func(t *testing.T, quantity string) {
		var err error
		raw := append(binary.AppendUvarint([]byte{quantityTag}, uint64(len(quantity))), quantity...)
		memory.ExpectProportional(t, len(raw), 2000, func() { err = d.Check(raw) })
		document, invalid := json.Marshal(quantity)
		if invalid != nil || CheckQuantities(document) != nil {
			return
		}
		var want resource.Quantity
		memory.ExpectProportional(t, len(raw), 2000, func() { invalid = json.Unmarshal(document, &want) })
		if accepted := err == nil; accepted != (want.Unmarshal(raw) == nil) && !isSlowQuantity(raw) {
			t.Fatalf("Check(%q) returns %v, UnmarshalJSON %v", quantity, err, invalid)
		}
	})
}
