// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/kinformer/kinformer/internal/testing/randomapi"
)

// randomStructs calls test for random objects, and structs with some of their fields.
func randomStructs(t *testing.T, test func(name string, object randomapi.Object, fields *Partial)) {
	t.Helper()
	const each = 6
	for i, goType := range randomapi.Types(t) {
		for j := range each {
			seed := i*each + j
			own := randomapi.Fields(rand.New(rand.NewPCG(uint64(seed), 2)), goType)
			fields, err := Resolve(goType, own)
			if err != nil {
				t.Fatalf("%s, seed %d: %v", goType, seed, err)
			}
			test(fmt.Sprintf("%s, seed %d, %s", goType, seed, own), randomapi.New(goType, int64(seed)), fields)
		}
	}
}

// TestDeepCopySharesNothing copies random structs, overwrites all that the copy refers to, and
// compares the original with another copy.
func TestDeepCopySharesNothing(t *testing.T) {
	written := 0
	randomStructs(t, func(name string, object randomapi.Object, fields *Partial) {
		own := reflect.New(fields.Root.Own)
		fields.Copy(own.Interface(), object)
		copied, again := reflect.New(own.Type().Elem()), reflect.New(own.Type().Elem())
		for _, to := range []reflect.Value{copied, again} {
			deepCopier(own.Type().Elem())(to.Elem(), own.Elem())
		}
		if !reflect.DeepEqual(copied.Interface(), own.Interface()) {
			t.Fatalf("%s: the copy of %+v is %+v", name, own, copied)
		}
		written += overwrite(copied)
		if !reflect.DeepEqual(own.Interface(), again.Interface()) {
			t.Fatalf("%s: the original has changed with its copy", name)
		}
	})
	if written < 10_000 {
		t.Errorf("%d values overwritten, want at least 10000", written)
	}
}

// TestCopySharesNothingWithObject overwrites all that a struct refers to, whose fields were copied
// from an object.
func TestCopySharesNothingWithObject(t *testing.T) {
	randomStructs(t, func(name string, object randomapi.Object, fields *Partial) {
		whole := fields.WithMetadata(randomapi.KeptType(fields.Root.Own))
		before := object.DeepCopyObject()
		overwrite(reflect.ValueOf(whole.Of(object)))
		if !reflect.DeepEqual(object, before) {
			t.Fatalf("%s: the object has changed with the copy of its fields", name)
		}
	})
}

// overwrite clears all that a value refers to, and returns how many values these are.
func overwrite(v reflect.Value) (written int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			written = 1 + overwrite(v.Elem())
			v.Elem().SetZero()
		}
	case reflect.Slice:
		for i := range v.Len() {
			written += 1 + overwrite(v.Index(i))
			v.Index(i).SetZero()
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			written += 1 + overwrite(value)
			v.SetMapIndex(key, reflect.Value{})
		}
	case reflect.Struct:
		switch v.Type() {
		case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
			return 0 // whose location does not change
		case reflect.TypeFor[resource.Quantity]():
			quantity := v.Interface().(resource.Quantity)
			quantity.Add(resource.MustParse("1")) // in place, if the number is large
			return 1
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				written += overwrite(v.Field(i))
			}
		}
	default:
	}
	return written
}

// TestCopyEqualsJSONRoundTrip compares fields that were copied from objects with those decoded from
// the objects' JSON, as JSON.
func TestCopyEqualsJSONRoundTrip(t *testing.T) {
	compared := 0
	randomStructs(t, func(name string, object randomapi.Object, fields *Partial) {
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		object = reflect.New(reflect.TypeOf(object).Elem()).Interface().(randomapi.Object)
		if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, object); err != nil {
			t.Fatal(err)
		}
		got, want := reflect.New(fields.Root.Own), reflect.New(fields.Root.Own)
		fields.Copy(got.Interface(), object)
		if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, want.Interface()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got.Interface(), want.Interface()) {
			t.Fatalf("%s: copied %+v, want %+v", name, got, want)
		}
		compared++
	})
	if compared < 500 {
		t.Errorf("compared %d objects, want at least 500", compared)
	}
}

// TestEmptyAndNilAreCopied copies values that DeepEqual and JSON tell apart.
func TestEmptyAndNilAreCopied(t *testing.T) {
	type own struct {
		Spec struct {
			Containers   []struct{}        `json:"containers"`
			NodeSelector map[string]string `json:"nodeSelector"`
			Affinity     *struct{}         `json:"affinity"`
		} `json:"spec"`
	}
	fields, err := Resolve(podType, reflect.TypeFor[own]())
	if err != nil {
		t.Fatal(err)
	}
	for _, empty := range []bool{false, true} {
		pod, want := &corev1.Pod{}, own{}
		if empty {
			pod.Spec = corev1.PodSpec{Containers: []corev1.Container{}, NodeSelector: map[string]string{}, Affinity: &corev1.Affinity{}}
			want.Spec.Containers, want.Spec.NodeSelector, want.Spec.Affinity = []struct{}{}, map[string]string{}, &struct{}{}
		}
		var got, copied own
		fields.Copy(&got, pod)
		DeepCopy(&copied, &got)
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(copied, want) {
			t.Errorf("copied %#v and %#v, want %#v", got, copied, want)
		}
	}
}

// TestDeepCopyOfTypesThatContainThemselves copies values of recursive types.
func TestDeepCopyOfTypesThatContainThemselves(t *testing.T) {
	type own struct {
		List     endlessList `json:"list"`
		Map      endlessMap  `json:"map"`
		Children []own       `json:"children"`
		Next     *own        `json:"next"`
	}
	from := own{List: endlessList{{}, {nil}}, Map: endlessMap{"a": {"b": nil}}, Children: []own{{}, {Next: &own{}}}, Next: &own{Map: endlessMap{}}}
	var to own
	DeepCopy(&to, &from)
	if !reflect.DeepEqual(to, from) {
		t.Errorf("the copy of %+v is %+v", from, to)
	}
	to.List[1][0], to.Map["a"]["b"], to.Children[1].Next.List, to.Next.Map["c"] = endlessList{}, endlessMap{}, endlessList{}, nil
	if from.List[1][0] != nil || from.Map["a"]["b"] != nil || from.Children[1].Next.List != nil || len(from.Next.Map) > 0 {
		t.Error("the original has changed with its copy")
	}
}

// TestDeepCopyIntoIsThatOfTheType copies a struct that has the method of one that it embeds, and a
// map whose values have the method.
func TestDeepCopyIntoIsThatOfTheType(t *testing.T) {
	type own struct {
		corev1.PodSpec `json:"spec"`

		Others []string                  `json:"others"`
		Specs  map[string]corev1.PodSpec `json:"specs"`
	}
	spec := corev1.PodSpec{NodeSelector: map[string]string{"a": "b"}}
	from := own{PodSpec: spec, Others: []string{"c"}, Specs: map[string]corev1.PodSpec{"d": *spec.DeepCopy()}}
	var to own
	DeepCopy(&to, &from)
	if !reflect.DeepEqual(to, from) {
		t.Errorf("the copy of %+v is %+v", from, to)
	}
	to.NodeSelector["a"], to.Others[0], to.Specs["d"].NodeSelector["a"] = "", "", ""
	if from.NodeSelector["a"] != "b" || from.Others[0] != "c" || from.Specs["d"].NodeSelector["a"] != "b" {
		t.Error("the original has changed with its copy")
	}
}
