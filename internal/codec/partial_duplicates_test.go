// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/wire"
)

type colorFields struct {
	Color string `json:"color"`
}

// colored has some fields of an object.
type colored struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Fields colorFields
}

func (c *colored) DeepCopyObject() runtime.Object { return c }

// TestOmittedMetadataOfDuplicateMembers decodes objects of which some fields are kept. The bytes of
// one with duplicate members cannot be cut.
func TestOmittedMetadataOfDuplicateMembers(t *testing.T) {
	objects, err := codec.PartialTypeOf(reflect.TypeFor[*colored](), reflect.TypeFor[*unstructured.Unstructured](), reflect.TypeFor[colorFields](), nil)
	if err != nil {
		t.Fatal(err)
	}
	omitted, err := objects.Omit([]string{"metadata.annotations[x]"}, false)
	if err != nil {
		t.Fatal(err)
	}
	codecs := codec.NewDecoders(objects, codec.Options{Omit: omitted}).ForList()
	for _, metadata := range []string{`"annotations":{"x":"1","y":"2"}`, `"annotations":{"x":"1"},"annotations":{"x":"1","y":"2"}`} {
		raw := `{"apiVersion":"v1","kind":"W","metadata":{"name":"a",` + metadata + `},"color":"red"}`
		obj, err := codecs.For(&wire.Item{Format: wire.JSON}).Decode([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got := obj.(*colored); len(got.Annotations) != 1 || got.Annotations["y"] != "2" || got.Name != "a" || got.Fields.Color != "red" || got.Kind != "W" {
			t.Errorf("%s is decoded as %+v", raw, got)
		}
	}
}
