// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"
	"reflect"
	"sort"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"
)

// generatedMessage is implemented by the types of the scheme.
type generatedMessage interface {
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}

// generatedTypes returns the types of the scheme that have a protobuf encoding, and
// PartialObjectMetadata.
func generatedTypes(tb testing.TB) (types []reflect.Type) {
	tb.Helper()
	seen := map[reflect.Type]bool{}
	for _, t := range scheme.Scheme.AllKnownTypes() {
		if !seen[t] && reflect.PointerTo(t).Implements(reflect.TypeFor[generatedMessage]()) {
			seen[t] = true
			types = append(types, t)
		}
	}
	types = append(types, reflect.TypeFor[metav1.PartialObjectMetadata]())
	sort.Slice(types, func(i, j int) bool { return types[i].String() < types[j].String() })
	if len(types) < 300 {
		tb.Fatalf("found %d types in the scheme, want at least 300", len(types))
	}
	return types
}

// newFiller returns a filler of objects with random values that survive encoding and decoding.
// density is the probability that an optional value is set.
func newFiller(seed int64, density float64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(1-density).NumElements(1, maxElements).MaxDepth(12).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = resource.MustParse([]string{"0", "1", "250m", "1500m", "64Mi", "12e6", "-3", "123456789012345678901234567890", "0.5Gi", "1n"}[c.Intn(10)])
		},
		func(t *metav1.Time, c randfill.Continue) { t.Time = time.Unix(c.Int63n(1<<33), 0).Local() },
		func(t *metav1.MicroTime, c randfill.Continue) { t.Time = time.UnixMicro(c.Int63n(1 << 53)).Local() },
		func(f *metav1.FieldsV1, c randfill.Continue) { f.SetRawString(fmt.Sprintf(`{"f:%s":{}}`, c.String(8))) },
		func(r *runtime.RawExtension, c randfill.Continue) { r.Raw = []byte(c.String(20)) },
		func(r *runtime.Object, _ randfill.Continue) { *r = nil },
		func(i *intstr.IntOrString, c randfill.Continue) {
			*i = intstr.FromInt32(c.Int31())
			if c.Bool() {
				*i = intstr.FromString(c.String(5))
			}
		},
		func(s *string, c randfill.Continue) {
			switch c.Intn(6) {
			case 0:
				*s = ""
			case 1:
				*s = c.String(300)
			default:
				*s = []string{"a", "kubernetes.io/metadata.name", "http", "default"}[c.Intn(4)]
			}
		},
		func(t *metav1.TypeMeta, _ randfill.Continue) { *t = metav1.TypeMeta{} },
	)
}

// randomEncoding returns the encoding of a random object.
func randomEncoding(tb testing.TB, t reflect.Type, seed int64, density float64) []byte {
	tb.Helper()
	object := reflect.New(t).Interface().(generatedMessage)
	newFiller(seed, density).Fill(object)
	raw, err := object.Marshal()
	if err != nil {
		tb.Fatalf("%s, seed %d: %v", t, seed, err)
	}
	return raw
}

// unmarshal decodes raw with the type's Unmarshal method.
func unmarshal(t reflect.Type, raw []byte) (object any, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	object = reflect.New(t).Interface()
	return object, object.(generatedMessage).Unmarshal(raw)
}

func newDecoder(tb testing.TB, t reflect.Type, options Options) *Decoder {
	tb.Helper()
	d, err := New(t, options)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// newDecoders returns a Decoder with default options and one with ShareEqual.
func newDecoders(tb testing.TB, t reflect.Type) []*Decoder {
	tb.Helper()
	return []*Decoder{newDecoder(tb, t, Options{}), newDecoder(tb, t, Options{ShareEqual: true})}
}

// checkDecode decodes and checks raw with each Decoder, several times, and compares the results
// with that of generated code. All Decoders must be of one type.
func checkDecode(tb testing.TB, raw []byte, times int, decoders ...*Decoder) {
	tb.Helper()
	if hasSlowQuantity(raw) {
		return // generated code may need hours
	}
	want, wantErr := unmarshal(decoders[0].plan.root.goType, raw)
	for _, d := range decoders {
		for range times {
			checkResult(tb, d, raw, want, wantErr)
		}
	}
}

// hasSlowQuantity reports whether raw may have a quantity that is rejected.
func hasSlowQuantity(raw []byte) bool {
	for i, c := range raw {
		if c == '-' && i > 0 && raw[i-1]|0x20 == 'e' && digits(raw[i+1:]) > maxExponent || digits(raw[i:]) > maxQuantity/2 {
			return true
		}
	}
	return false
}

func checkResult(tb testing.TB, d *Decoder, raw []byte, want any, wantErr error) {
	tb.Helper()
	t := d.plan.root.goType
	checkErr := d.Check(raw) // before Decode, which fills the tables
	if (checkErr == nil) != (wantErr == nil) {
		tb.Fatalf("%s: Check returns %v, Unmarshal returns %v\n%x", t, checkErr, wantErr, raw)
	}
	got, err := d.Decode(raw)
	if (err == nil) != (wantErr == nil) {
		tb.Fatalf("%s, ShareEqual %v: error is %v, Unmarshal returns %v\n%x", t, d.shared != nil, err, wantErr, raw)
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		tb.Fatalf("%s, ShareEqual %v: (-Unmarshal +Decode)\n%s\n%x", t, d.shared != nil, cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })), raw)
	}
	if err == nil {
		checkUpdate(tb, d, raw, raw)
	}
}

// TestDecodesLikeGeneratedCode decodes objects of all types of the scheme with all or some of their
// fields set, each twice, so that the second time hits the tables.
func TestDecodesLikeGeneratedCode(t *testing.T) {
	for _, goType := range generatedTypes(t) {
		decoders := newDecoders(t, goType)
		for seed := range int64(objectsPerType) {
			raw := randomEncoding(t, goType, seed, []float64{1, 0.2, 0.5}[seed%3])
			checkDecode(t, raw, 2, decoders...)
		}
	}
}

// TestEveryTypeHasAPlan checks that no struct type of the scheme is decoded by its Unmarshal
// method.
func TestEveryTypeHasAPlan(t *testing.T) {
	c := &compiler{messages: map[reflect.Type]*messagePlan{}}
	for _, goType := range generatedTypes(t) {
		c.plan(goType)
	}
	unplanned := 0
	for goType, m := range c.messages {
		if m.custom != nil && customDecoder(goType) == nil && goType.Kind() == reflect.Struct {
			t.Errorf("%s has no plan and is decoded by its Unmarshal method", goType)
			unplanned++
		}
	}
	t.Logf("%d types, %d of them without a plan", len(c.messages), unplanned)
}

// TestTruncatedInput decodes many prefixes of an object's encoding.
func TestTruncatedInput(t *testing.T) {
	goType := reflect.TypeFor[corev1.Pod]()
	raw := randomEncoding(t, goType, 1, 0.2)
	decoders := newDecoders(t, goType)
	for end := 0; end < len(raw); end += 1 + len(raw)/2000 {
		checkDecode(t, raw[:end], 1, decoders...)
	}
}
