// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/fields"
	"github.com/kinformer/kinformer/internal/wire"
)

// itemOf returns the item of an object in JSON, as a source makes it.
func itemOf(t *testing.T, text string, options Options) feed.Item {
	t.Helper()
	split, err := wire.Parse([]byte(text), wire.JSON)
	if err != nil {
		t.Fatal(err)
	}
	_, at, _ := split.Identify()
	codecs := NewDecoders(ObjectType{GoType: reflect.TypeFor[*corev1.Pod]()}, options).ForList()
	return feed.Item{Key: "ns/a", Raw: split.Raw, Codec: codecs.For(&split), Layout: at}
}

func labelsOf(item feed.Item) ([]string, error) {
	return IndexMetadata(item, func(m Metadata) ([]string, error) { return []string{fmt.Sprint(m.GetLabels())}, nil })
}

// TestIndexOfAnUneditedItemLacksOmittedMetadata covers an object whose bytes cannot be edited, and
// one that was not edited yet.
func TestIndexOfAnUneditedItemLacksOmittedMetadata(t *testing.T) {
	fields, err := fields.Omit(reflect.TypeFor[*corev1.Pod](), []string{"metadata.labels[a]", "spec.nodeName"}, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`{"metadata":{"name":"a","labels":{"a":"b","c":"d"}},"spec":{}}`,
		`{"metadata":{"name":"a","labels":{"a":"b","c":"d"}},"spec":{},"spec":{}}`,
	} {
		item := itemOf(t, text, Options{Omit: fields})
		for range 2 {
			if got, err := labelsOf(item); err != nil || len(got) != 1 || got[0] != "map[c:d]" {
				t.Errorf("%s: the index is of labels %v, %v", text, got, err)
			}
			item, _ = item.Edited(nil)
		}
	}
}

// TestErrorOfLocatedMetadata has metadata that does not decode. The error is that of the object
// whose layout is not known.
func TestErrorOfLocatedMetadata(t *testing.T) {
	item := itemOf(t, `{"metadata":{"name":"a","generation":"1","labels":{"c":"d"}}}`, Options{})
	if item.Layout.Metadata.IsZero() {
		t.Fatal("the layout of the object is not known")
	}
	_, got := labelsOf(item)
	item.Layout.Length = 0
	if _, want := labelsOf(item); want == nil || got == nil || got.Error() != want.Error() {
		t.Errorf("the error is %v, want %v", got, want)
	}
}
