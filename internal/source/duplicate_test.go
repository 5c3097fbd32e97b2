// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/testing/random"
	"github.com/kinformer/kinformer/internal/wire"
)

var (
	podType    = codec.ObjectType{GoType: reflect.TypeFor[*corev1.Pod]()}
	widget     = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}}
	widgetType = codec.TypeOf(reflect.TypeOf(widget), widget)
	anyType    = codec.ObjectType{GoType: reflect.TypeOf(widget)}
	partial    = codec.ObjectType{GoType: reflect.TypeFor[*metav1.PartialObjectMetadata]()}
)

// itemOf returns the feed's form of an object's bytes.
func itemOf(raw []byte, format wire.Format, objects codec.ObjectType) (feed.Item, error) {
	split, err := wire.Parse(raw, format)
	if err != nil {
		return feed.Item{}, err
	}
	return feedItem(&split, codec.NewDecoders(objects, codec.Options{}).ForList())
}

// TestDuplicateMembersFollowTheDecoder lists objects in which a member occurs twice. Key, UID and
// version are those of the decoded object: in unstructured objects the last value wins, while Go
// types keep the last that is not null, and merge objects.
func TestDuplicateMembersFollowTheDecoder(t *testing.T) {
	const kind = `"apiVersion":"example.com/v1","kind":"Widget",`
	for name, test := range map[string]struct {
		raw          string
		pod, generic string // key, UID and version; or an error
	}{
		"metadata": {`{` + kind + `"metadata":{"namespace":"x","name":"a","uid":"u","resourceVersion":"1"},"metadata":{"name":"b","resourceVersion":"2"}}`,
			"x/b u 2", "b  2"},
		"metadata, then null":  {`{` + kind + `"metadata":{"name":"a"},"metadata":null}`, "a  ", "metadata.name is empty"},
		"name":                 {`{` + kind + `"metadata":{"name":"a","name":"b"}}`, "b  ", "b  "},
		"name, then null":      {`{` + kind + `"metadata":{"name":"a","name":null}}`, "a  ", "metadata.name is empty"},
		"namespace, then null": {`{` + kind + `"metadata":{"name":"a","namespace":"x","namespace":null}}`, "x/a  ", "a  "},
		"uid, then null":       {`{` + kind + `"metadata":{"name":"a","uid":"u","uid":null}}`, "a u ", "a  "},
		"version, then null":   {`{` + kind + `"metadata":{"name":"a","resourceVersion":"1","resourceVersion":null}}`, "a  1", "a  "},
		"escaped name":         {`{` + kind + `"metadata":{"name":"a","n\u0061me":null}}`, "a  ", "metadata.name is empty"},
		"kind":                 {`{` + kind + `"kind":null,"metadata":{"name":"a"}}`, "a  ", "a  "},
	} {
		t.Run(name, func(t *testing.T) {
			checkIdentity(t, test.raw, podType, test.pod)
			checkIdentity(t, test.raw, widgetType, test.generic)
		})
	}
}

func checkIdentity(t *testing.T, raw string, objects codec.ObjectType, want string) {
	t.Helper()
	item, err := itemOf([]byte(raw), wire.JSON, objects)
	if err != nil {
		if item.Key != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", objects, err, want)
		}
		return
	}
	if got := item.Key + " " + item.UID + " " + item.ResourceVersion; got != want {
		t.Errorf("%s: identity %q, want %q", objects, got, want)
	}
	if problem := disagreement(item); problem != "" {
		t.Errorf("%s: %s", objects, problem)
	}
}

// disagreement describes how an item differs from its object, if that can be decoded.
func disagreement(item feed.Item) string {
	obj, err := item.Decoded()
	if err != nil {
		return ""
	}
	object, err := meta.Accessor(obj)
	if err != nil {
		return err.Error()
	}
	if key := codec.Key(object); key != item.Key || string(object.GetUID()) != item.UID || object.GetResourceVersion() != item.ResourceVersion {
		return fmt.Sprintf("item %q %q %q holds %q %q %q", item.Key, item.UID, item.ResourceVersion, key, object.GetUID(), object.GetResourceVersion())
	}
	return ""
}

// TestItemAgreesWithItsObject checks that the key, UID and version of an item are those of its
// object, for random objects with duplicate members and values of any type.
func TestItemAgreesWithItsObject(t *testing.T) {
	for _, objects := range []codec.ObjectType{podType, widgetType, anyType, partial} {
		t.Run(objects.String(), func(t *testing.T) {
			random.Check(t, 100, func(t *random.T) { randomItem(t, randomObject(t), wire.JSON, objects) })
		})
	}
}

// randomItem returns the item of an object, which agrees with it, unless the object is rejected.
func randomItem(t *random.T, raw string, format wire.Format, objects codec.ObjectType) (item feed.Item, ok bool) {
	item, err := itemOf([]byte(raw), format, objects)
	if err != nil {
		return item, false
	}
	if problem := disagreement(item); problem != "" {
		t.Fatalf("%q\n%s", raw, problem)
	}
	return item, true
}

// randomObject returns an object in JSON whose members may occur several times.
func randomObject(t *random.T) string {
	identity := func() string {
		t.Step("member")
		name := random.From(t, "name", `"name"`, `"namespace"`, `"uid"`, `"resourceVersion"`, `"n\u0061me"`, `"Name"`)
		if t.Range("other type", 0, 4) == 4 {
			return name + ":" + random.From(t, "value", `5`, `{}`, `[]`, `true`)
		}
		return name + ":" + random.From(t, "value", `"a"`, `"b"`, `""`, `null`, `"\u0061"`)
	}
	members := make([]string, 1+t.Length("more than one member", 2, 4))
	for i := range members {
		if t.Range("type", 0, 2) == 2 {
			members[i] = random.From(t, "member", `"kind":"Widget"`, `"kind":null`, `"kind":"Gadget"`,
				`"apiVersion":"example.com/v1"`, `"apiVersion":null`, `"metadata":null`, `"metadata":{}`, `"Metadata":{"name":"no"}`)
		} else {
			members[i] = `"metadata":{` + joined(t, identity, ",") + `}`
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// joined returns up to six texts, with a separator between them.
func joined(t *random.T, draw func() string, separator string) string {
	texts := make([]string, t.Length("members", 3, 6))
	for i := range texts {
		texts[i] = draw()
	}
	return strings.Join(texts, separator)
}

// TestItemAgreesWithItsMessage is TestItemAgreesWithItsObject for protobuf, in which fields may
// occur several times, and messages are merged.
func TestItemAgreesWithItsMessage(t *testing.T) {
	for _, objects := range []codec.ObjectType{podType, partial} {
		t.Run(objects.String(), func(t *testing.T) {
			random.Check(t, 100, func(t *random.T) {
				raw := randomMessage(t)
				if item, ok := randomItem(t, raw, wire.Protobuf, objects); ok {
					checkGenerated(t, raw, item)
				}
			})
		})
	}
}

// checkGenerated compares an item with the object that the generated code decodes.
func checkGenerated(t *random.T, raw string, item feed.Item) {
	var object metav1.PartialObjectMetadata
	if err := object.Unmarshal([]byte(raw)); err != nil {
		return
	}
	if codec.Key(&object) != item.Key || string(object.UID) != item.UID || object.ResourceVersion != item.ResourceVersion {
		t.Fatalf("%q\nitem %q %q %q, generated code %q %q %q", raw, item.Key, item.UID, item.ResourceVersion,
			codec.Key(&object), object.UID, object.ResourceVersion)
	}
}

// randomMessage returns an object with metadata messages in protobuf, among other fields.
func randomMessage(t *random.T) string {
	field := func(number byte, value string) string { return string(number<<3|2) + string(byte(len(value))) + value }
	text := func() string { return random.From(t, "text", "", "a", "b", "ä", "\xff") }
	identity := func() string {
		t.Step("field")
		number := random.From[byte](t, "number", 1, 2, 3, 5, 6, 13, 15)
		if number == 13 { // an owner reference
			return field(number, field(1, text()))
		}
		return field(number, text())
	}
	message := ""
	for range 1 + t.Length("more than one field", 2, 4) {
		if t.Range("other", 0, 2) == 2 {
			message += random.From(t, "field", field(2, ""), field(15, "x"), "\x78\x05", "\x0a\x00", "\x0b\x0c")
		} else {
			message += field(1, joined(t, identity, ""))
		}
	}
	return message
}
