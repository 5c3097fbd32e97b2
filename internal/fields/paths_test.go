// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/layout"
	"github.com/kinformer/kinformer/internal/testing/randomapi"
)

var (
	podType          = reflect.TypeFor[*corev1.Pod]()
	unstructuredType = reflect.TypeFor[*unstructured.Unstructured]()
)

func TestPathsThatCannotBeOmitted(t *testing.T) {
	tests := []struct {
		goType reflect.Type
		paths  string // separated by spaces
		want   string
	}{
		{podType, "spec.colour", `OmitFields "spec.colour": v1.PodSpec has no field "colour"`},
		{podType, "Spec", `v1.Pod has no field "Spec"`},
		{podType, "spec.nodeName.a", "spec.nodeName is a string, which has no fields"},
		{podType, "metadata.creationTimestamp.Time", "metadata.creationTimestamp is a v1.Time, which has no fields"},
		{podType, "spec.containers[0].env", "spec.containers cannot have an index: a path applies to all elements of a list"},
		{podType, "spec.nodeName[a]", "spec.nodeName is no map"},
		{podType, "metadata.annotations.a", "metadata.annotations is a map: name one of its keys in brackets, as in metadata.annotations[key]"},
		{podType, "metadata", "metadata cannot be omitted: it identifies the object"},
		{podType, "metadata.name", "metadata.name cannot be omitted: it identifies the object"},
		{podType, "metadata.namespace", "identifies the object"},
		{podType, "metadata.uid", "identifies the object"},
		{podType, "metadata.resourceVersion", "identifies the object's state"},
		{podType, "metadata.deletionTimestamp", "being deleted"},
		{podType, "metadata.generation", "which state of the spec"},
		{podType, "metadata.ownerReferences", "which controller"},
		{podType, "metadata.ownerReferences.controller", "which controller"},
		{podType, "metadata.managedFields.time", "as a whole only"},
		{podType, "kind", "kind cannot be omitted: it says what the object is"},
		{podType, "apiVersion", "says what the object is"},
		{podType, "spec spec.containers", `OmitFields "spec.containers": "spec" omits it already`},
		{podType, "spec.containers.env spec.containers", "another path is below it"},
		{podType, "spec.containers spec.containers", "omits it already"},
		{podType, "", `OmitFields "": a name is empty`},
		{podType, "spec..containers", "a name is empty"},
		{podType, "spec.", "a name is empty"},
		{podType, "[spec]", "a path begins with a name"},
		{podType, "metadata.labels[a", "a bracket is not closed"},
		{podType, "metadata.labels[a]b", "must be followed by a dot"},
		{podType, "metadata.labels[\xff]", "not valid UTF-8"},
		{nil, "metadata.managedFields", "the type of the objects is not known"},
		{reflect.TypeFor[*metav1.PartialObjectMetadata](), "spec", `has no field "spec"`},
		{unstructuredType, "metadata.colour", `v1.ObjectMeta has no field "colour"`},
		{unstructuredType, "metadata.uid", "identifies the object"},
		{unstructuredType, "spec.list[12].a", "spec.list cannot have an index"},
		{unstructuredType, "spec[", "a bracket is not closed"},
	}
	for _, test := range tests {
		fields, err := Omit(test.goType, strings.Split(test.paths, " "), true)
		if err == nil || !strings.Contains(err.Error(), test.want) || fields != nil {
			t.Errorf("Omit(%v, %q) = %v, %v, want nil and an error with %q", test.goType, test.paths, fields, err, test.want)
		}
	}
}

// TestOtherFieldsThanManagedFieldsNeedNeverWritten covers the one path that an Update can do
// without.
func TestOtherFieldsThanManagedFieldsNeedNeverWritten(t *testing.T) {
	for _, goType := range []reflect.Type{podType, unstructuredType} {
		if _, err := Omit(goType, []string{"metadata.managedFields"}, false); err != nil {
			t.Error(err)
		}
		for _, path := range []string{"metadata.labels", "spec", "metadata.annotations[a]"} {
			_, err := Omit(goType, []string{"metadata.managedFields", path}, false)
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "NeverWritten") {
				t.Errorf("Omit(%v, %q) returned %v, want an error with NeverWritten", goType, path, err)
			}
			if _, err := Omit(goType, []string{"metadata.managedFields", path}, true); err != nil {
				t.Errorf("with readOnly: %v", err)
			}
		}
	}
	if fields, err := Omit(podType, nil, false); fields != nil || err != nil {
		t.Errorf("Omit without paths returned %v, %v", fields, err)
	}
}

// nested has what no type of Kubernetes has.
type nested struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	*Inlined          `json:",inline"`

	Lists   [][]element                  `json:"lists,omitempty"`
	Maps    []map[string]int             `json:"maps,omitempty"`
	Nested  map[string]map[string]string `json:"nested,omitempty"`
	Untyped any                          `json:"untyped,omitempty"`
	Skipped string                       `json:"-"`
	Unnamed element
}

type Inlined struct {
	A string `json:"a,omitempty"`
	B string `json:"b,omitempty"`
}

type element struct {
	A, B int
}

func (n *nested) DeepCopyObject() runtime.Object { return n }

func TestOmitFromJSON(t *testing.T) {
	tests := []struct {
		goType     reflect.Type
		path       string
		raw, want  string
		duplicates bool // the bytes cannot be edited
	}{
		{goType: podType, path: "spec", raw: `{"spec":{},"status":{}}`, want: `{"status":{}}`},
		{goType: podType, path: "spec", raw: `{"kind":"Pod","spec":{},"status":{}}`, want: `{"kind":"Pod","status":{}}`},
		{goType: podType, path: "status", raw: `{"spec":{},"status":{}}`, want: `{"spec":{}}`},
		{goType: podType, path: "spec", raw: `{"spec":{}}`, want: `{}`},
		{goType: podType, path: "spec", raw: `{"spec":{},"kind":"Pod","metadata":{"name":"n","ownerReferences":[{"name":"o"}]}}`, want: `{"kind":"Pod","metadata":{"name":"n","ownerReferences":[{"name":"o"}]}}`},
		{goType: podType, path: "metadata.labels[a]", raw: `{"metadata":{"labels":{"a":"1"},"ownerReferences":[{}]},"kind":"Pod"}`, want: `{"metadata":{"ownerReferences":[{}]},"kind":"Pod"}`},
		{goType: podType, path: "spec", raw: ` { "spec" : { "a\"}" : [ 1 ] } , "kind" : "Pod" } `, want: `{ "kind":"Pod" }`},
		{goType: podType, path: "spec", raw: `{"\u0073pec":null}`, want: `{}`},
		{goType: podType, path: "spec.containers.env", raw: `{"spec":{"containers":[{"env":[],"name":"a"},{"name":"b","env":[{}]}]}}`, want: `{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}`},
		{goType: podType, path: "spec.containers.env", raw: `{"spec":{"containers":null}}`, want: `{"spec":{"containers":null}}`},
		{goType: podType, path: "spec.volumes.configMap", raw: `{"spec":{"volumes":[{"name":"v","configMap":{"name":"c"}}]}}`, want: `{"spec":{"volumes":[{"name":"v"}]}}`},
		{goType: podType, path: "metadata.labels[a]", raw: `{"metadata":{"labels":{"a":"1"},"name":"n"}}`, want: `{"metadata":{"name":"n"}}`},
		{goType: podType, path: "metadata.labels[a]", raw: `{"metadata":{"labels":{}}}`, want: `{"metadata":{}}`},
		{goType: podType, path: "metadata.labels[a]", raw: `{"metadata":{"name":"n","labels":{"b":"1","a":"1"}}}`, want: `{"metadata":{"name":"n","labels":{"b":"1"}}}`},
		{goType: podType, path: "metadata.labels[a]", raw: `{"metadata":{"labels":{"a":"1","b":"2"},"labels":{"a":"1"}}}`, want: `{"metadata":{"labels":{"b":"2"}}}`, duplicates: true},
		{goType: podType, path: "spec.nodeName", raw: `{"spec":{"nodeName":"a"},"spec":{"nodeName":"b","hostname":"c"}}`, want: `{"spec":{"hostname":"c"}}`, duplicates: true},
		{goType: unstructuredType, path: "spec.a", raw: `{"spec":{"a":1},"spec":{"b":1}}`, want: `{"spec":{"b":1}}`, duplicates: true},
		{goType: unstructuredType, path: "spec.a", raw: `{"spec":{"a":1}}`, want: `{"spec":{}}`},
		{goType: unstructuredType, path: "spec.a.b", raw: `{"spec":{"a":[[{"b":1,"c":2}],{"b":2},3,"b"]}}`, want: `{"spec":{"a":[[{"c":2}],{},3,"b"]}}`},
		{goType: unstructuredType, path: "spec.a[b.c]", raw: `{"spec":{"a":{"b.c":1}}}`, want: `{"spec":{}}`},
		{goType: unstructuredType, path: "spec.a[b.c]", raw: `{"spec":{"a":[{"b.c":1}]}}`, want: `{"spec":{"a":[{}]}}`},
		{goType: unstructuredType, path: "spec.a[b][c]", raw: `{"spec":{"a":{"b":{"c":1}},"d":1}}`, want: `{"spec":{"d":1}}`},
		{goType: unstructuredType, path: "metadata.annotations[1]", raw: `{"metadata":{"annotations":{"1":"2"}}}`, want: `{"metadata":{}}`},
		{goType: reflect.TypeFor[*nested](), path: "lists.A", raw: `{"lists":[[{"A":1,"B":2}],[]]}`, want: `{"lists":[[{"B":2}],[]]}`},
		{goType: reflect.TypeFor[*nested](), path: "maps[a]", raw: `{"maps":[{"a":1},{"a":1,"b":2},{}]}`, want: `{"maps":[null,{"b":2},null]}`},
		{goType: reflect.TypeFor[*nested](), path: "nested[a][b]", raw: `{"nested":{"a":{"b":"c"},"d":{}}}`, want: `{"nested":{"d":{}}}`},
		{goType: reflect.TypeFor[*nested](), path: "Unnamed.B", raw: `{"Unnamed":{"A":1,"B":2}}`, want: `{"Unnamed":{"A":1}}`},
		{goType: reflect.TypeFor[*nested](), path: "a", raw: `{"a":"1","b":"2"}`, want: `{"b":"2"}`, duplicates: true},
	}
	for _, test := range tests {
		fields, err := Omit(test.goType, []string{test.path}, true)
		if err != nil {
			t.Errorf("%s: %v", test.path, err)
			continue
		}
		at := layoutOf([]byte(test.raw))
		result, ok := fields.AppendJSON(nil, []byte(test.raw), at)
		edited := result.Bytes
		if ok {
			checkLayout(t, []byte(test.raw), edited, at, result.Layout)
		}
		if ok == test.duplicates {
			t.Errorf("%s without %s: AppendJSON returned %s, %v", test.raw, test.path, edited, ok)
		}
		if ok && string(compact(t, edited)) != string(compact(t, []byte(test.want))) {
			t.Errorf("%s without %s: AppendJSON returned %s, want %s", test.raw, test.path, edited, test.want)
		}
		checkDecoded(t, fields, test.goType, test.raw, test.want)
	}
}

// checkDecoded checks that raw decodes to the same without the fields as want.
func checkDecoded(t *testing.T, fields *Omitted, goType reflect.Type, raw, want string) {
	t.Helper()
	var got [2]any
	for i, text := range []string{raw, want} {
		object := reflect.New(goType.Elem()).Interface().(runtime.Object)
		var err error
		if u, ok := object.(*unstructured.Unstructured); ok {
			err = json.Unmarshal([]byte(text), &u.Object)
		} else {
			err = json.Unmarshal([]byte(text), object)
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got[i] = object; i == 0 {
			got[i] = fields.Without(object)
		}
	}
	if !reflect.DeepEqual(got[0], got[1]) {
		t.Errorf("%s: Without returns %+v, want %+v", raw, got[0], got[1])
	}
}

func compact(t *testing.T, raw []byte) []byte {
	t.Helper()
	var v json.RawMessage
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	compacted, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return compacted
}

// TestNotFoundFields covers unstructured objects that lack the fields, in bytes and decoded.
func TestNotFoundFields(t *testing.T) {
	fields, err := Omit(reflect.TypeFor[*unstructured.Unstructured](), []string{
		"metadata.managedFields", "metadata.labels[a]", "spec.selector[a]", "spec.nodeName", "status",
	}, true)
	if err != nil {
		t.Fatal(err)
	}
	check := func(want ...string) {
		t.Helper()
		if got := fields.NotFound(); !reflect.DeepEqual(got, want) {
			t.Errorf("NotFound() = %q, want %q", got, want)
		}
	}
	fields.AppendJSON(nil, []byte(`{"spec":{"selector":{"b":"a"}}}`), layout.Object{})
	fields.Without(&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"selector": map[string]any{"b": "a"}}}})
	check("spec.selector[a]", "spec.nodeName", "status")
	fields.AppendJSON(nil, []byte(`{"spec":{"selector":{"a":"b"}}}`), layout.Object{})
	check("spec.nodeName", "status")
	fields.Without(&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"nodeName": "a"}}})
	check("status")
	fields.AppendJSON(nil, []byte(`{"status":{"phase":"a"}}`), layout.Object{})
	check()
}

// TestFieldsOfATypeAreNotReported covers fields that the type has and no object had: they are not
// misspelled.
func TestFieldsOfATypeAreNotReported(t *testing.T) {
	for goType, paths := range map[reflect.Type][]string{
		podType: {"metadata.managedFields", "metadata.labels[a]", "spec.ephemeralContainers"},
		reflect.TypeFor[*metav1.PartialObjectMetadata](): {"metadata.managedFields", "metadata.labels[a]"},
	} {
		fields, err := Omit(goType, paths, true)
		if err != nil {
			t.Fatal(err)
		}
		if got := fields.NotFound(); got != nil {
			t.Errorf("%v: NotFound() = %q", goType, got)
		}
	}
}

// TestLayoutOfEditedProtobuf covers what is cut from every object, after the owners, and what is
// cut before them.
func TestLayoutOfEditedProtobuf(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "a", Labels: map[string]string{"a": "b", "c": "d"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		OwnerReferences: []metav1.OwnerReference{{Name: "owner", UID: "u"}, {Name: "other"}},
	}}
	raw, _ := randomapi.Encode(t, pod)
	for path, known := range map[string]bool{
		"metadata.managedFields": true, "spec.nodeName": true, "status": true,
		"metadata.labels[a]": false, "metadata.annotations[a]": true,
	} {
		fields, err := Omit(podType, []string{path}, true)
		if err != nil {
			t.Fatal(err)
		}
		at := layoutOf(raw)
		edited, ok := fields.AppendProtobuf(nil, raw, at)
		if !ok || (edited.Layout.Length > 0) != known {
			t.Errorf("without %s: the layout is %+v, want one: %v", path, edited.Layout, known)
		}
		checkLayout(t, raw, edited.Bytes, at, edited.Layout)
	}
}
