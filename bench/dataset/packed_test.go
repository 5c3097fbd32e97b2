// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestPackedPodsEqualEncodedPods(t *testing.T) {
	const n = 130
	packed, err := PackPods(20, n)
	if err != nil {
		t.Fatal(err)
	}
	for _, count := range []int{0, 1, n} {
		encoded, err := Encode("v1", "Pod", NewPods(20, 1).Take(count))
		if err != nil {
			t.Fatal(err)
		}
		want := encoded.List(count, encoded.All())
		var all, got bytes.Buffer
		if _, err := want.WriteTo(&all); err != nil {
			t.Fatal(err)
		}
		if err := packed.WriteList(&got, count, Page{End: count}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(all.Bytes(), got.Bytes()) {
			t.Errorf("the list of %d Pods differs: %d bytes, want %d", count, got.Len(), all.Len())
		}
	}
}

func TestPackedCustomResources(t *testing.T) {
	const n = 20
	packed, err := PackCustomResources(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, count := range []int{0, n} {
		var body bytes.Buffer
		if err := packed.WriteList(&body, count, Page{End: count}); err != nil {
			t.Fatal(err)
		}
		var list struct {
			metav1.TypeMeta
			Metadata metav1.ListMeta
			Items    []json.RawMessage
		}
		if err := json.Unmarshal(body.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		if list.Kind != "DatabaseList" || list.Metadata.ResourceVersion != Version(count) || len(list.Items) != count {
			t.Fatalf("%s at %s of %d", list.Kind, list.Metadata.ResourceVersion, len(list.Items))
		}
		for i, raw := range list.Items {
			var got unstructured.Unstructured
			if err := got.UnmarshalJSON(raw); err != nil {
				t.Fatal(err)
			}
			if want := NewCustomResources(1).CustomResource(i); !reflect.DeepEqual(got.Object, want.Object) {
				t.Fatalf("got %v, want %v", got.Object, want.Object)
			}
		}
	}
}
