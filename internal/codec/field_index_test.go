// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/testing/randomapi"
	"github.com/kinformer/kinformer/internal/wire"
)

// leafPaths returns the paths below a type, up to a depth.
func leafPaths(t reflect.Type, prefix string, depth int) (paths []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || depth == 0 || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return []string{prefix}
	}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Type == reflect.TypeFor[metav1.TypeMeta](): // which protobuf does not have
		case name == "" && field.Anonymous:
			paths = append(paths, leafPaths(field.Type, prefix, depth)...)
		case name != "metadata" || prefix != "":
			paths = append(paths, leafPaths(field.Type, strings.TrimPrefix(prefix+"."+name, "."), depth-1)...)
		}
	}
	return paths
}

// expectedValues reads the values at the end of names directly from a value of the API.
func expectedValues(v reflect.Value, names []string, element bool) (values []string) {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return nil
	case v.Kind() == reflect.Pointer:
		return expectedValues(v.Elem(), names, true)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			values = append(values, expectedValues(v.Index(i), names, true)...)
		}
		return values
	case len(names) > 0:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == names[0] {
				return expectedValues(v.Field(i), names[1:], false)
			}
			if name == "" && field.Anonymous && slices.Contains(leafPaths(field.Type, "", 1), names[0]) {
				return expectedValues(v.Field(i), names, false)
			}
		}
		panic("no field " + names[0])
	case !element && v.IsZero():
		return nil
	case !element && v.Type() == reflect.TypeFor[resource.Quantity]() && v.Addr().Interface().(*resource.Quantity).IsZero():
		return nil
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		panic(err)
	}
	if text[0] == '"' {
		var unquoted string
		if err := json.Unmarshal(text, &unquoted); err != nil {
			panic(err)
		}
		return []string{unquoted}
	}
	return []string{string(text)}
}

// TestFieldIndexOfBytesAndObjectsIsEqual compares, for the types of client-go's scheme, the values
// of every field as read from protobuf, from JSON, and from the object, also without its Go type.
func TestFieldIndexOfBytesAndObjectsIsEqual(t *testing.T) {
	types, compared, refused := 0, 0, 0
	for _, goType := range randomapi.Types(t) {
		types++
		objects := TypeOf(goType, nil)
		codecs := NewDecoders(objects, Options{}).ForList()
		for seed := range 2 {
			obj := randomapi.New(goType, int64(types*10+seed))
			raw, text := randomapi.Encode(t, obj)
			decoded, err := codecs.For(&wire.Item{Format: wire.JSON}).Decode(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range leafPaths(goType.Elem(), "", 4) {
				index, err := NewFieldIndex(objects, path)
				if err != nil {
					refused++
					continue
				}
				want := expectedValues(reflect.ValueOf(decoded), strings.Split(path, "."), false)
				compared += len(want)
				for name, values := range map[string]func() ([]string, error){
					"protobuf": func() ([]string, error) {
						return index.OfItem(feed.Item{Raw: raw, Codec: codecs.For(&wire.Item{Format: wire.Protobuf})})
					},
					"JSON": func() ([]string, error) {
						return index.OfItem(feed.Item{Raw: text, Codec: codecs.For(&wire.Item{Format: wire.JSON})})
					},
					"object": func() ([]string, error) { return index.OfObject(obj) },
				} {
					if got, err := values(); err != nil || !slices.Equal(got, want) {
						t.Fatalf("%s of %s, %s, seed %d: %q, %v; want %q\n%s", path, goType, name, seed, got, err, want, text)
					}
				}
			}
		}
	}
	t.Logf("%d types, %d values, %d paths refused", types, compared, refused)
	if types < 100 || compared < 5000 {
		t.Errorf("compared %d values of %d types", compared, types)
	}
}

// TestFieldIndexOfUnstructuredObjects reads by JSON names, whatever the types of the values.
func TestFieldIndexOfUnstructuredObjects(t *testing.T) {
	objects := TypeOf(reflect.TypeFor[*unstructured.Unstructured](), nil)
	text := `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"a"},"spec":{
		"text":"a","empty":"","zero":0,"float":1.5,"no":false,"null":null,"parts":[{"size":1},{"size":"2"},{},7],"lists":[["x"],[]],"object":{}}}`
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	codec := NewDecoders(objects, Options{}).ForList().For(&wire.Item{Format: wire.JSON, APIVersion: "example.com/v1", Kind: "Gadget"})
	for path, want := range map[string][]string{
		"spec.text": {"a"}, "spec.empty": {""}, "spec.zero": {"0"}, "spec.float": {"1.5"}, "spec.no": {"false"}, "spec.null": nil, "spec.absent": nil,
		"spec.parts.size": {"1", "2"}, "spec.lists": {"x"}, "spec.text.deeper": nil, "status.phase": nil,
	} {
		index, err := NewFieldIndex(objects, path)
		if err != nil {
			t.Fatal(err)
		}
		fromBytes, err := index.OfItem(feed.Item{Raw: []byte(text), Codec: codec})
		if err != nil || !slices.Equal(fromBytes, want) {
			t.Errorf("%s of bytes: %q, %v; want %q", path, fromBytes, err, want)
		}
		fromObject, err := index.OfObject(u)
		if err != nil || !slices.Equal(fromObject, want) {
			t.Errorf("%s of the object: %q, %v; want %q", path, fromObject, err, want)
		}
	}
	index, _ := NewFieldIndex(objects, "spec.object")
	if _, err := index.OfObject(u); err == nil {
		t.Error("an object is a value")
	}
}

// TestInvalidFieldIndexIsRefused checks that errors name what is wrong with a path.
func TestInvalidFieldIndexIsRefused(t *testing.T) {
	for path, want := range map[string]string{
		"":                           "a name is empty",
		"spec..nodeName":             "a name is empty",
		"spec.containers[0].image":   "brackets",
		"metadata.name":              "ByMetadata",
		"kind":                       "ByMetadata",
		"spec.node":                  `v1.PodSpec has no field "node"`,
		"spec":                       "spec is a struct",
		"spec.containers":            "containers is a struct",
		"spec.nodeSelector":          "nodeSelector is a map",
		"spec.nodeName.first":        `string has no field "first"`,
		"spec.containers.ports.port": `v1.ContainerPort has no field "port"`,
		"spec.containers.readinessProbe.httpGet.port": "port is a intstr.IntOrString",
	} {
		if _, err := NewFieldIndex(TypeOf(reflect.TypeFor[*corev1.Pod](), nil), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
	if _, err := NewFieldIndex(ObjectType{}, "spec.nodeName"); err == nil {
		t.Error("objects of any type have the field")
	}
}
