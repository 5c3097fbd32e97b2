// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// in returns a struct type that has a field of a type behind names in JSON, the outermost first.
func in(field reflect.Type, names ...string) reflect.Type {
	for _, name := range slices.Backward(names) {
		goName := strings.ToUpper(name[:1]) + name[1:]
		field = reflect.StructOf([]reflect.StructField{{Name: goName, Type: field, Tag: reflect.StructTag(`json:"` + name + `"`)}})
	}
	return field
}

// fieldsNamed returns a struct type with fields of one name in JSON.
func fieldsNamed(name string, goNames ...string) reflect.Type {
	var fields []reflect.StructField
	for _, goName := range goNames {
		field := reflect.StructField{Name: goName, Type: reflect.TypeFor[struct{}](), Tag: reflect.StructTag(`json:"` + name + `"`)}
		if goName == strings.ToLower(goName) {
			field.PkgPath = "example.com/fields"
		}
		fields = append(fields, field)
	}
	return reflect.StructOf(fields)
}

// upper is a string with its own form in JSON, which it would not have in protobuf.
type upper string

func (u *upper) UnmarshalText(text []byte) error {
	*u = upper(strings.ToUpper(string(text)))
	return nil
}

// quoted writes itself in a form that it does not read.
type quoted string

func (quoted) MarshalJSON() ([]byte, error) { return []byte(`"..."`), nil }

// level writes itself as text that it does not read.
type level string

func (level) MarshalText() ([]byte, error) { return []byte("level"), nil }

// endless contains itself without a struct.
type (
	endlessList    []endlessList
	endlessMap     map[string]endlessMap
	endlessPointer *endlessPointer
)

// shallow decodes itself, and its copies share memory.
type shallow struct{ numbers []int }

func (s *shallow) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &s.numbers) }

// pointers decodes itself, and its copies share memory.
type pointers struct{ All [1]*int }

func (*pointers) UnmarshalJSON([]byte) error { return nil }

// promoting has UnmarshalJSON, of the struct that it embeds.
type promoting struct {
	metav1.Time `json:"startTime"`
}

// TestFieldsThatCannotBeRead resolves structs whose error names the field.
func TestFieldsThatCannotBeRead(t *testing.T) {
	text := reflect.TypeFor[string]()
	for _, c := range []struct {
		api, fields reflect.Type
		want        string
	}{
		{podType, text, "string is not a struct"},
		{podType, reflect.TypeFor[*struct{}](), "*struct {} is not a struct"},
		{podType, reflect.TypeFor[promoting](), "fields.promoting has a form of its own"},
		{reflect.TypeFor[corev1.Pod](), in(text, "spec"), "v1.Pod is not a pointer to a struct"},
		{reflect.TypeFor[metav1.Object](), in(text, "spec"), "v1.Object is not a pointer to a struct"},
		{reflect.TypeFor[*string](), in(text, "spec"), "*string is not a pointer to a struct"},
		{reflect.TypeFor[*metav1.Status](), in(text, "message"), "*v1.Status has no ObjectMeta"},
		{reflect.TypeFor[*ownMetadata](), in(text, "message"), "*fields.ownMetadata has no ObjectMeta"},
		{podType, fieldsNamed("spec", "spec"), "field spec: it is not exported"},
		{podType, reflect.TypeFor[struct{ Spec struct{} }](), "field Spec: its json tag names no field"},
		{podType, reflect.TypeFor[struct {
			Spec struct{} `json:"-"`
		}](), "field Spec: its json tag names no field"},
		{podType, reflect.TypeFor[struct {
			Spec struct{} `json:",inline"`
		}](), "field Spec: its json tag names no field"},
		{podType, reflect.TypeFor[struct {
			Spec struct {
				NodeName string `protobuf:"bytes,10,opt,name=nodeName"`
			} `json:"spec"`
		}](), "field Spec.NodeName: its json tag names no field"},
		{podType, reflect.TypeFor[struct {
			Spec struct {
				Priority *int32 `json:"priority,string"`
			} `json:"spec"`
		}](), `field Spec.Priority: the option "string"`},
		{podType, fieldsNamed("spec", "Spec", "Again"), `field Again: another field is named "spec"`},
		{podType, in(reflect.TypeFor[metav1.ObjectMeta](), "metadata"), `field Metadata: "metadata" is not to be named: ObjectMeta has it`},
		{podType, in(text, "kind"), `field Kind: "kind" is not to be named: TypeMeta has it`},
		{podType, in(text, "apiVersion"), `field ApiVersion: "apiVersion" is not to be named: TypeMeta has it`},
		{podType, in(text, "spec", "colour"), `field Spec.Colour: v1.PodSpec has no field "colour"`},
		{podType, in(text, "spec", "nodename"), `field Spec.Nodename: v1.PodSpec has no field "nodename"`},
		{podType, in(text, "Spec"), `field Spec: v1.Pod has no field "Spec"`},
		{podType, in(reflect.TypeFor[any](), "spec"), "field Spec: its type must be v1.PodSpec or of the same kind, not interface {}"},
		{podType, in(reflect.TypeFor[func()](), "spec"), "field Spec: its type must be v1.PodSpec or of the same kind, not func()"},
		{podType, in(reflect.TypeFor[chan int](), "spec", "nodeName"), "field Spec.NodeName: its type must be string or of the same kind, not chan int"},
		{podType, in(reflect.TypeFor[int](), "spec", "nodeName"), "field Spec.NodeName: its type must be string or of the same kind, not int"},
		{podType, in(reflect.TypeFor[*string](), "spec", "nodeName"), "field Spec.NodeName: its type must be string or of the same kind, not *string"},
		{podType, in(reflect.TypeFor[int32](), "spec", "priority"), "field Spec.Priority: its type must be *int32 or of the same kind, not int32"},
		{podType, in(reflect.TypeFor[*int64](), "spec", "priority"), "field Spec.Priority: its type must be int32 or of the same kind, not int64"},
		{podType, in(in(text, "name"), "spec", "containers"), "field Spec.Containers: its type must be []v1.Container or of the same kind"},
		{podType, in(reflect.SliceOf(in(reflect.TypeFor[bool](), "name")), "spec", "containers"), "field Spec.Containers.Name: its type must be string"},
		{podType, in(reflect.SliceOf(reflect.PointerTo(in(text, "name"))), "spec", "containers"), "field Spec.Containers: its type must be v1.Container"},
		{podType, in(in(text, "name"), "spec", "affinity"), "field Spec.Affinity: its type must be *v1.Affinity"},
		{podType, in(reflect.TypeFor[map[int]string](), "spec", "nodeSelector"), "field Spec.NodeSelector: its type must be map[string]string, not map[int]string"},
		{podType, in(reflect.TypeFor[time.Time](), "status", "startTime"), "field Status.StartTime: its type must be *v1.Time"},
		{podType, in(reflect.TypeFor[*time.Time](), "status", "startTime"), "field Status.StartTime: its type must be v1.Time, which has a form of its own, not time.Time"},
		{podType, in(reflect.TypeFor[metav1.Time](), "status", "startTime"), "field Status.StartTime: its type must be *v1.Time"},
		{podType, in(reflect.TypeFor[map[string]string](), "spec", "overhead"), "field Spec.Overhead: its type must be resource.Quantity, which has a form of its own, not string"},
		{podType, in(reflect.SliceOf(in(reflect.SliceOf(in(text, "containerPort")), "ports")), "spec", "containers"), "field Spec.Containers.Ports.ContainerPort: its type must be int32"},
		{podType, in(reflect.SliceOf(in(in(in(text, "port"), "httpGet"), "livenessProbe")), "spec", "containers"), "field Spec.Containers.LivenessProbe: its type must be *v1.Probe"},
		{podType, in(reflect.TypeFor[upper](), "spec", "nodeName"), "field Spec.NodeName: its type must be string or of the same kind, not fields.upper"},
		{podType, in(reflect.TypeFor[quoted](), "spec", "nodeName"), "field Spec.NodeName: its type must be string or of the same kind, not fields.quoted"},
		{podType, in(reflect.TypeFor[level](), "spec", "nodeName"), "field Spec.NodeName: its type must be string or of the same kind, not fields.level"},
		{podType, in(reflect.TypeFor[map[upper]string](), "spec", "nodeSelector"), "field Spec.NodeSelector: its type must be map[string]string, not map[fields.upper]string"},
		{reflect.TypeFor[*corev1.Service](), in(reflect.SliceOf(in(reflect.TypeFor[int32](), "targetPort")), "spec", "ports"), "field Spec.Ports.TargetPort: its type must be intstr.IntOrString, which has a form of its own, not int32"},
		{reflect.TypeFor[*authorizationv1.SubjectAccessReview](), in(reflect.TypeFor[map[string][]string](), "spec", "extra"), "field Spec.Extra: its type must be v1.ExtraValue, which has a form of its own, not []string"},
		{reflect.TypeFor[*corev1.PersistentVolumeClaim](), in(reflect.TypeFor[int64](), "spec", "resources"), "field Spec.Resources: its type must be v1.VolumeResourceRequirements"},
		{reflect.TypeFor[*pointerInside](), in(text, "name"), `field Name: fields.pointerInside has "name" behind an embedded pointer`},
		{unstructuredType, in(reflect.TypeFor[any](), "spec"), "field Spec: its type cannot be interface {}"},
		{unstructuredType, in(reflect.TypeFor[[]any](), "spec"), "field Spec: its type cannot be interface {}"},
		{unstructuredType, in(reflect.TypeFor[func()](), "spec", "a"), "field Spec.A: its type cannot be func()"},
		{unstructuredType, in(reflect.TypeFor[chan int](), "spec", "a"), "field Spec.A: its type cannot be chan int"},
		{unstructuredType, in(reflect.TypeFor[[2]string](), "spec", "a"), "field Spec.A: its type cannot be [2]string"},
		{unstructuredType, in(reflect.TypeFor[complex128](), "spec"), "field Spec: its type cannot be complex128"},
		{unstructuredType, in(reflect.TypeFor[unsafe.Pointer](), "spec"), "field Spec: its type cannot be unsafe.Pointer"},
		{unstructuredType, in(reflect.TypeFor[map[int]string](), "spec"), "field Spec: the keys of map[int]string are not strings"},
		{unstructuredType, in(reflect.TypeFor[map[level]string](), "spec"), "field Spec: the keys of map[fields.level]string are not strings"},
		{unstructuredType, in(reflect.TypeFor[quoted](), "spec"), "field Spec: fields.quoted has no UnmarshalJSON or UnmarshalText"},
		{unstructuredType, in(reflect.TypeFor[shallow](), "spec"), "field Spec: fields.shallow has no DeepCopyInto"},
		{unstructuredType, in(reflect.TypeFor[pointers](), "spec"), "field Spec: [1]*int has no DeepCopyInto"},
		{unstructuredType, in(reflect.TypeFor[*big.Int](), "spec"), "field Spec: big.Int has no DeepCopyInto"},
		{unstructuredType, in(text, "metadata"), `field Metadata: "metadata" is not to be named: ObjectMeta has it`},
		{unstructuredType, fieldsNamed("a", "A", "B"), `field B: another field is named "a"`},
	} {
		if fields, err := Resolve(c.api, c.fields); err == nil || !strings.Contains(err.Error(), c.want) || fields != nil {
			t.Errorf("Resolve(%v, %v) = %v, %v, want an error with\n%s", c.api, c.fields, fields, err, c.want)
		}
	}
}

// ownMetadata has metadata of its own.
type ownMetadata struct {
	metav1.TypeMeta `json:",inline"`

	ObjectMeta struct{} `json:"metadata"`
}

// TestEachFieldThatCannotBeReadIsNamed resolves a struct with two faults.
func TestEachFieldThatCannotBeReadIsNamed(t *testing.T) {
	_, err := Resolve(podType, reflect.TypeFor[struct {
		Spec struct {
			NodeName int    `json:"nodeName"`
			Hostname string `json:"hostname"`
			Colour   string `json:"colour"`
		} `json:"spec"`
	}]())
	if err == nil || !strings.Contains(err.Error(), "Spec.NodeName") || !strings.Contains(err.Error(), "Spec.Colour") || strings.Contains(err.Error(), "Hostname") {
		t.Errorf("the error is %v", err)
	}
}

// pointerInside has fields that JSON sets only if it makes the struct.
type pointerInside struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	*Pointed          `json:",inline"`
}

type Pointed struct {
	Name string `json:"name"`
}

// TestFieldsThatCanBeRead resolves structs of types other than the API's.
func TestFieldsThatCanBeRead(t *testing.T) {
	type name string
	for _, c := range []struct{ api, fields reflect.Type }{
		{podType, reflect.TypeFor[struct{}]()},
		{podType, in(reflect.TypeFor[name](), "spec", "nodeName")},
		{podType, in(reflect.TypeFor[string](), "status", "phase")},
		{podType, in(reflect.TypeFor[map[name]name](), "spec", "nodeSelector")},
		{podType, in(reflect.TypeFor[corev1.ResourceList](), "spec", "overhead")},
		{podType, in(reflect.TypeFor[*metav1.Time](), "status", "startTime")},
		{podType, in(reflect.TypeFor[*struct{}](), "spec", "affinity")},
		{podType, reflect.TypeFor[struct {
			corev1.PodSpec `json:"spec"`
		}]()},
		{podType, in(reflect.SliceOf(in(reflect.TypeFor[*corev1.ConfigMapVolumeSource](), "configMap")), "spec", "volumes")},
		{reflect.TypeFor[*corev1.Service](), in(reflect.SliceOf(in(reflect.TypeFor[intstr.IntOrString](), "targetPort")), "spec", "ports")},
		{reflect.TypeFor[*appsv1.Deployment](), in(reflect.TypeFor[struct {
			Name string `json:"name"`
		}](), "spec", "template", "metadata")},
		{reflect.TypeFor[*authorizationv1.SubjectAccessReview](), in(reflect.TypeFor[map[string]authorizationv1.ExtraValue](), "spec", "extra")},
		{unstructuredType, in(reflect.TypeFor[map[string][]*float64](), "spec", "a")},
		{unstructuredType, in(reflect.TypeFor[corev1.PodTemplateSpec](), "spec", "template")},
		{unstructuredType, in(reflect.TypeFor[endlessList](), "spec")},
		{unstructuredType, in(reflect.TypeFor[endlessMap](), "spec")},
		{unstructuredType, in(reflect.TypeFor[endlessPointer](), "spec")},
		{unstructuredType, in(reflect.TypeFor[upper](), "spec")},
		{unstructuredType, in(reflect.TypeFor[json.RawMessage](), "spec")},
		{unstructuredType, in(reflect.TypeFor[time.Time](), "spec")},
		{unstructuredType, in(reflect.TypeFor[metav1.Time](), "spec")},
		{unstructuredType, in(reflect.TypeFor[intstr.IntOrString](), "spec")},
	} {
		if _, err := Resolve(c.api, c.fields); err != nil {
			t.Errorf("Resolve(%v, %v): %v", c.api, c.fields, err)
		}
	}
}
