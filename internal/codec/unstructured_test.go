// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/testing/random"
)

// gadget returns an unstructured object with a spec.
func gadget(spec any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{"name": "w"}, "spec": spec,
	}}
}

// repacked packs an object that did not come as JSON and unpacks it.
func repacked(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	objects := TypeOf(reflect.TypeOf(u), &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget"}})
	packer := NewPacker(objects, Options{}, func() bool { return true })
	packed, err := packer.Pack(feed.Item{Key: "w"}, pack.Object{}, func() (any, error) { return u, nil })
	if err != nil {
		return nil, err
	}
	decoded, err := packer.Unpack(packed)
	if err != nil {
		return nil, err
	}
	return decoded.(*unstructured.Unstructured), nil
}

// TestPackedUnstructuredValuesAreEqual packs random values, which must not change, not even in the
// type of a number.
func TestPackedUnstructuredValuesAreEqual(t *testing.T) {
	random.Check(t, 100, func(t *random.T) {
		want := gadget(randomValue(t, 4))
		got, err := repacked(want)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("packed %#v, want %#v", got.Object["spec"], want.Object["spec"])
		}
	})
}

// randomValue returns a value as the decoder of unstructured objects returns them.
func randomValue(t *random.T, depth int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch t.Range("kind", 0, kinds-1) {
	case 0:
		return random.From(t, "literal", any(nil), true, false)
	case 1:
		return randomInteger(t)
	case 2:
		return randomFloat(t)
	case 3:
		return randomString(t)
	case 4:
		array := make([]any, t.Range("length", 0, 4))
		for i := range array {
			array[i] = randomValue(t, depth-1)
		}
		return array
	default:
		object := make(map[string]any)
		for range t.Range("members", 0, 4) {
			object[randomString(t)] = randomValue(t, depth-1)
		}
		return object
	}
}

func randomInteger(t *random.T) int64 {
	n := int64(t.UpTo(math.MaxInt64))
	if t.IntN(2) == 0 {
		n = ^n
	}
	t.Note("integer", n)
	return n
}

func randomFloat(t *random.T) float64 {
	switch random.From(t, "kind of float", "any", "integer", "power", "fraction", "special") {
	case "any":
		f := math.Float64frombits(t.Uint64())
		if t.IntN(2) == 0 || math.IsInf(f, 0) || math.IsNaN(f) {
			f = t.NormFloat64()
		}
		t.Note("float", f)
		return f
	case "integer":
		return float64(randomInteger(t))
	case "power":
		return math.Pow10(t.Range("exponent", 0, 308))
	case "fraction":
		return math.Pow10(-t.Range("exponent", 0, 330))
	}
	return random.From(t, "float",
		0, math.Copysign(0, -1), 1, -1, 100, 1e20, 1e21, 1<<53, 1<<63, -1<<63, math.MaxFloat64, math.SmallestNonzeroFloat64)
}

// randomString returns a string of characters that JSON may escape, and of others.
func randomString(t *random.T) string {
	text := make([]rune, t.Length("length", 5, 100))
	for i := range text {
		switch t.IntN(3) {
		case 0:
			const unusual = "\x00\t\n\x0b\x1b\x7f \"\\/<>&'{}[]:,\u2028\u2029\ufeff\ufffd\u202eA\u023a"
			characters := []rune(unusual)
			text[i] = characters[t.IntN(len(characters))]
		case 1:
			text[i] = rune(t.UpTo(0x7f))
		default:
			text[i] = rune(t.UpTo(unicode.MaxRune)) // a surrogate becomes U+FFFD
		}
	}
	t.Note("string", string(text))
	return string(text)
}

// TestPackedNumbersKeepTheirType is TestPackedUnstructuredValuesAreEqual for the numbers that JSON
// itself does not distinguish.
func TestPackedNumbersKeepTheirType(t *testing.T) {
	want := gadget(map[string]any{
		"integer": int64(1), "float": 1.0, "negative": -1.0, "zero": 0.0, "minus zero": math.Copysign(0, -1), "large": 1e21, "larger": float64(1 << 62),
		"max": int64(math.MaxInt64), "min": int64(math.MinInt64),
	})
	got, err := repacked(want)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("packed %#v, want %#v", got.Object["spec"], want.Object["spec"])
	}
	zero, _, _ := unstructured.NestedFloat64(got.Object, "spec", "minus zero")
	if !math.Signbit(zero) {
		t.Error("-0.0 became 0.0")
	}
}

// TestUnpackableValuesAreErrors packs values that JSON would change. The error names the field, and
// not the value.
func TestUnpackableValuesAreErrors(t *testing.T) {
	cyclic := map[string]any{}
	cyclic["self"] = []any{cyclic}
	for name, test := range map[string]struct {
		object *unstructured.Unstructured
		want   string
	}{
		"NaN":          {gadget(map[string]any{"a": []any{int64(1), math.NaN()}}), "spec.a[1]: not a finite number"},
		"infinity":     {gadget(math.Inf(-1)), "spec: not a finite number"},
		"int":          {gadget(map[string]any{"replicas": 4711}), "spec.replicas: the decoder does not return a int;"},
		"int32":        {gadget(int32(4711)), "spec: the decoder does not return a int32;"},
		"uint64":       {gadget(uint64(4711)), "spec: the decoder does not return a uint64;"},
		"float32":      {gadget([]any{[]any{float32(4711)}}), "spec[0][0]: the decoder does not return a float32;"},
		"json.Number":  {gadget(json.Number("4711")), "spec: the decoder does not return a json.Number;"},
		"strings":      {gadget([]string{"4711"}), "spec: the decoder does not return a []string;"},
		"string map":   {gadget(map[string]string{"a": "4711"}), "spec: the decoder does not return a map[string]string;"},
		"nil map":      {gadget(map[string]any(nil)), "spec: a nil map or slice would become null"},
		"nil slice":    {gadget([]any(nil)), "spec: a nil map or slice would become null"},
		"bytes":        {gadget("4711\xff"), "spec: not valid UTF-8"},
		"name":         {gadget(map[string]any{"\xff": "4711"}), "spec: not valid UTF-8"},
		"cycle":        {gadget(cyclic), "spec.self[0].self[0]"},
		"no kind":      {&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "w"}}}, "kind: missing"},
		"empty object": {&unstructured.Unstructured{}, "kind: missing"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := repacked(test.object)
			if err == nil {
				t.Fatalf("packed %#v as %#v", test.object.Object["spec"], got.Object["spec"])
			}
			if text := err.Error(); !strings.Contains(text, test.want) || strings.Contains(text, "4711") || len(text) > 1000 {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}
