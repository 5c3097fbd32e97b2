// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// filler fills objects of any type, so that each field is empty in some of them and not in others.
type filler struct {
	random *rand.Rand
	raw    []byte // the content of each RawExtension
}

// fill fills a value. Deeper values are emptier, since types may contain themselves.
func (f *filler) fill(v reflect.Value, depth int) {
	if f.special(v) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if f.wants(depth) {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if f.wants(depth) {
			v.Set(reflect.MakeSlice(v.Type(), f.random.IntN(3), 3))
			for i := range v.Len() {
				f.fill(v.Index(i), depth+1)
			}
		}
	case reflect.Map:
		if f.wants(depth) {
			f.fillMap(v, depth)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type().Field(i).Name != "TypeMeta" {
				f.fill(v.Field(i), depth+1)
			}
		}
	default:
		f.scalar(v)
	}
}

func (f *filler) wants(depth int) bool { return f.random.IntN(12) > depth }

func (f *filler) fillMap(v reflect.Value, depth int) {
	v.Set(reflect.MakeMap(v.Type()))
	for range f.random.IntN(3) {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, depth+1)
		f.fill(value, depth+1)
		v.SetMapIndex(key, value)
	}
}

func (f *filler) scalar(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text())
	case reflect.Bool:
		v.SetBool(f.random.IntN(2) == 0)
	case reflect.Int, reflect.Int32:
		v.SetInt(int64(f.random.Int32()))
	case reflect.Int64:
		v.SetInt(f.random.Int64() - f.random.Int64())
	case reflect.Uint8:
		v.SetUint(uint64(f.random.IntN(256)))
	case reflect.Uint32:
		v.SetUint(uint64(f.random.Uint32()))
	case reflect.Float64:
		v.SetFloat(f.random.Float64())
	default:
		panic(fmt.Sprintf("cannot fill %s", v.Type()))
	}
}

func (f *filler) text() string {
	return strings.Repeat([]string{"", "a", "é", "<&>\u2028", "\"quoted\"\n", "日本"}[f.random.IntN(6)], 1+f.random.IntN(3))
}

// special fills types that restrict their values, and reports whether v is of such a type.
func (f *filler) special(v reflect.Value) bool {
	moment := time.Unix(f.random.Int64N(4e9), f.random.Int64N(1e9)/1000*1000)
	switch p := v.Addr().Interface().(type) {
	case *[]byte: // not empty: protobuf distinguishes nil from empty here, and JSON does not
		*p = []byte(f.text() + "b")
	case *metav1.Time:
		*p = metav1.NewTime(moment.Truncate(time.Second).In(time.FixedZone("", 3600)))
	case *metav1.MicroTime:
		*p = metav1.NewMicroTime(moment)
	case *metav1.FieldsV1:
		*p = *metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`)
	case *resource.Quantity:
		*p = resource.MustParse([]string{"0", "1500m", "2Gi", "3e6", "0.1"}[f.random.IntN(5)])
	case *intstr.IntOrString:
		*p = []intstr.IntOrString{intstr.FromInt32(8080), intstr.FromString("http")}[f.random.IntN(2)]
	case *runtime.RawExtension:
		*p = runtime.RawExtension{Raw: f.raw}
	case *metav1.OwnerReference:
		*p = metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "owner", UID: "owner-uid"}
	default:
		return false
	}
	return true
}
