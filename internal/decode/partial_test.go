// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/fields"
	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
	"github.com/kinformer/kinformer/internal/testing/randomapi"
)

// partialObject returns an object with some of the fields of an API type.
func partialObject(tb testing.TB, api, own reflect.Type) *fields.Partial {
	tb.Helper()
	resolved, err := fields.Resolve(api, own)
	if err != nil {
		tb.Fatal(err)
	}
	return resolved.WithMetadata(randomapi.KeptType(own))
}

func newPartial(tb testing.TB, of *fields.Partial, options Options) *Decoder {
	tb.Helper()
	d, err := NewPartial(of, options)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// tree contains itself, as apiextensions' JSONSchemaProps does.
type tree struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata" protobuf:"bytes,6,opt,name=metadata"`

	Child    *tree           `json:"child" protobuf:"bytes,1,opt,name=child"`
	Children []tree          `json:"children" protobuf:"bytes,2,rep,name=children"`
	Named    map[string]tree `json:"named" protobuf:"bytes,3,rep,name=named"`
	Name     string          `json:"name" protobuf:"bytes,4,opt,name=name"`
	Other    string          `json:"other" protobuf:"bytes,5,opt,name=other"`
}

// partOfTree has fewer fields than a tree.
type partOfTree struct {
	Child    *partOfTree           `json:"child"`
	Children []partOfTree          `json:"children"`
	Named    map[string]partOfTree `json:"named"`
	Name     string                `json:"name"`
}

// treePart returns some fields of a tree.
func treePart(t *testing.T) *fields.Partial {
	t.Helper()
	part, err := fields.Resolve(reflect.TypeFor[*tree](), reflect.TypeFor[partOfTree]())
	if err != nil {
		t.Fatal(err)
	}
	return part
}

// newTreeDecoder returns a decoder of parts of trees, which are planned as if they were of
// Kubernetes.
func newTreeDecoder(t *testing.T, of *fields.Partial, options Options) *Decoder {
	t.Helper()
	c := newCompiler()
	root, err := c.planObject(of)
	if err != nil {
		t.Fatal(err)
	}
	return decoderOf(&plan{root: root, shared: c.shared, caches: c.caches}, options)
}

func TestTypesThatContainThemselvesAreDecodedInPart(t *testing.T) {
	name := func(s string) []byte { return join(bytesField(4, []byte(s)), bytesField(5, []byte("other"))) }
	raw := join(name("a"), bytesField(1, name("b"), bytesField(2, name("c"))), bytesField(3, bytesField(1, []byte("key")), bytesField(2, name("d"))), bytesField(2), bytesField(2, name("e")))
	want := partOfTree{
		Name: "a", Child: &partOfTree{Name: "b", Children: []partOfTree{{Name: "c"}}},
		Named: map[string]partOfTree{"key": {Name: "d"}}, Children: []partOfTree{{}, {Name: "e"}},
	}
	for _, shared := range []bool{false, true} {
		part := treePart(t)
		withMetadata := newTreeDecoder(t, part.WithMetadata(randomapi.KeptType(part.Type)), Options{ShareEqual: shared})
		d := newTreeDecoder(t, part, Options{ShareEqual: shared})
		for range 2 {
			if got, err := d.Decode(raw); err != nil || !reflect.DeepEqual(got, &want) || d.Check(raw) != nil {
				t.Errorf("ShareEqual %v: decoded %+v, %v, Check returns %v", shared, got, err, d.Check(raw))
			}
			got, err := withMetadata.Decode(raw)
			if err != nil || !reflect.DeepEqual(reflect.ValueOf(got).Elem().FieldByName("Fields").Interface(), want) {
				t.Errorf("ShareEqual %v, with metadata: decoded %+v, %v", shared, got, err)
			}
		}
	}
}

// TestNestingOfPartialObjectsIsBounded is TestNestingIsBounded for parts of objects.
func TestNestingOfPartialObjectsIsBounded(t *testing.T) {
	for name, field := range nestingFields() {
		d := newTreeDecoder(t, treePart(t), Options{})
		for depth, want := range map[int]bool{100: true, maxNesting - 1: true, maxNesting: name == "skipped", 2_000_000: name == "skipped"} {
			raw := nest(depth, field)
			var err error
			memory.ExpectProportional(t, min(len(raw), 10*maxNesting), 400, func() { _, err = d.Decode(raw) })
			if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "nested deeper than 10000 levels") {
				t.Errorf("%s of depth %d: error %v", name, depth, err)
			}
			if checked := d.Check(raw); (checked == nil) != want {
				t.Errorf("%s of depth %d: Check returns %.200v, Decode %.200v", name, depth, checked, err)
			}
			if estimated := d.Allocates(raw, 1<<20); estimated < 0 {
				t.Errorf("%s of depth %d: estimated %d bytes", name, depth, estimated)
			}
		}
	}
}

// TestFieldsThatAreNotEncodedStayEmpty reads apiVersion and kind inside an object, which protobuf
// does not have.
func TestFieldsThatAreNotEncodedStayEmpty(t *testing.T) {
	type fields struct {
		DeleteOptions *struct {
			Kind   string   `json:"kind"`
			DryRun []string `json:"dryRun"`
		} `json:"deleteOptions"`
	}
	of := partialObject(t, reflect.TypeFor[*policyv1.Eviction](), reflect.TypeFor[fields]())
	raw := encodingOf(t, &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{Kind: "DeleteOptions"}, DryRun: []string{"All"}}})
	got, err := newPartial(t, of, Options{}).Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	if options := reflect.ValueOf(got).Elem().FieldByName("Fields").Interface().(fields).DeleteOptions; options.Kind != "" || len(options.DryRun) != 1 {
		t.Errorf("the options are %+v", options)
	}
}

// TestErrorOfPartialObjectNamesField decodes an object whose image is a number.
func TestErrorOfPartialObjectNamesField(t *testing.T) {
	type fields struct {
		Spec struct {
			Containers []struct {
				Image string `json:"image"`
			} `json:"containers"`
		} `json:"spec"`
	}
	d := newPartial(t, partialObject(t, reflect.TypeFor[*corev1.Pod](), reflect.TypeFor[fields]()), Options{})
	raw := bytesField(2, bytesField(2, bytesField(1, []byte("a")), varintField(2, 1)))
	if _, err := d.Decode(raw); err == nil || !strings.Contains(err.Error(), "Spec: Containers: Image: wrong wire type 0") {
		t.Errorf("error is %v", err)
	}
	if d.Check(raw) == nil {
		t.Error("Check returned no error")
	}
}

// partialFuzzCase decodes whole objects and parts of them.
type partialFuzzCase struct {
	goType  reflect.Type
	of      *fields.Partial
	whole   *Decoder
	partial []*Decoder
	// measured has small tables: a large one grows by megabytes at once.
	measured *Decoder
}

func partialFuzzCases(tb testing.TB) (cases []partialFuzzCase) {
	tb.Helper()
	for _, goType := range testedTypes() {
		if _, ok := goType.FieldByName("TypeMeta"); !ok {
			continue
		}
		whole := newDecoder(tb, goType, Options{})
		for seed := range uint64(4) {
			fields := randomapi.Fields(rand.New(rand.NewPCG(seed, 3)), reflect.PointerTo(goType))
			c := partialFuzzCase{goType: goType, of: partialObject(tb, reflect.PointerTo(goType), fields), whole: whole}
			if !skipsNumbers(c.of.Root) {
				c.partial = []*Decoder{newPartial(tb, c.of, Options{}), newPartial(tb, c.of, Options{ShareEqual: true})}
				c.measured = newPartial(tb, c.of, Options{SmallTables: true})
				cases = append(cases, c)
			}
		}
	}
	return cases
}

// skipsNumbers reports whether a struct lacks a list of numbers of the API's. Generated code
// accepts a last number that ends after the list, and reads on behind it.
func skipsNumbers(n *fields.Node) bool {
	isRead := func(field reflect.StructField) bool {
		return slices.ContainsFunc(n.Children, func(child *fields.Node) bool { return child.Field.Name == field.Name })
	}
	if n.Own != nil {
		for field := range n.Type.Fields() {
			number := fieldPlan{goType: field.Type}
			if field.Type.Kind() == reflect.Slice && number.planNumber() && !isRead(field) {
				return true
			}
		}
	}
	return slices.ContainsFunc(n.Children, skipsNumbers)
}

// check compares decoded parts with those of the decoded whole object, which may be invalid in
// other parts.
func (c partialFuzzCase) check(tb testing.TB, raw []byte) {
	tb.Helper()
	whole, wholeErr := c.whole.Decode(raw)
	for _, d := range c.partial {
		checked := d.Check(raw)
		got, err := d.Decode(raw)
		if (checked == nil) != (err == nil) {
			tb.Fatalf("%s: Check returns %v, Decode %v\n%x", c.of.Type, checked, err, raw)
		}
		if wholeErr != nil {
			continue
		}
		if want := c.of.Of(whole); err != nil || !reflect.DeepEqual(got, want) {
			tb.Fatalf("%s: %v\ndecoded %+v\nwant %+v\n%x", c.of.Type, err, got, want, raw)
		}
	}
}

// TestMutatedPartialObjects decodes encodings with a few bytes changed, deleted or duplicated.
func TestMutatedPartialObjects(t *testing.T) {
	for n, c := range partialFuzzCases(t) {
		random := rand.New(rand.NewPCG(1, uint64(n)))
		raw := randomEncoding(t, c.goType, int64(n), 0.3)
		for range mutatedRounds {
			c.check(t, mutate(random, raw))
		}
	}
}

// FuzzPartial decodes arbitrary bytes.
func FuzzPartial(f *testing.F) {
	cases := partialFuzzCases(f)
	for n, c := range cases {
		f.Add(byte(n), randomEncoding(f, c.goType, 1, 0.15))
	}
	f.Fuzz(func(t *testing.T, n byte, raw []byte) {
		c := cases[int(n)%len(cases)]
		memory.ExpectProportional(t, len(raw), largestElement, func() { _, _ = c.measured.Decode(raw) })
		c.check(t, raw)
	})
}
