// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"errors"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
	"github.com/kinformer/kinformer/internal/wire"
)

// bytesPerByte is what a decoder may allocate for each byte of an object. An empty map takes 50.
const bytesPerByte = 2000

// FuzzUnstructured encodes what the decoder returns for any JSON. The result decodes to an equal
// object.
func FuzzUnstructured(f *testing.F) {
	for _, c := range packerCases(f) {
		f.Add(c.raw)
	}
	f.Add([]byte(`{"a":-0.0,"b":1e400,"c":"é\u2028","d":[[],{},null,1.0,9223372036854775807]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var object map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &object); err != nil || object == nil {
			return
		}
		var encoded []byte
		var err error
		memory.ExpectProportional(t, len(raw), 50, func() { encoded, err = encodeUnstructured(&unstructured.Unstructured{Object: object}) })
		if err != nil {
			t.Fatalf("%v\n%q", err, raw)
		}
		var again map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(encoded, &again); err != nil || !reflect.DeepEqual(object, again) {
			t.Fatalf("%v\n%q became\n%q", err, raw, encoded)
		}
	})
}

// FuzzMetadata reads the metadata of any object for an index. It is that of the whole object.
func FuzzMetadata(f *testing.F) {
	fuzzCases(f, func(t *testing.T, c packerCase, raw []byte) {
		t.Helper()
		var labels, annotations map[string]string
		var owners []metav1.OwnerReference
		var err error
		memory.ExpectProportional(t, len(raw), bytesPerByte, func() {
			_, err = IndexMetadata(feed.Item{Key: "ns/a", Raw: raw, Codec: c.codec}, func(m Metadata) ([]string, error) {
				labels, annotations, owners = m.GetLabels(), m.GetAnnotations(), m.GetOwnerReferences()
				return nil, nil
			})
		})
		compareLocatedMetadata(t, c, raw, err, labels, annotations, owners)
		obj, decodeErr := c.codec.Decode(raw)
		if decodeErr != nil || c.packer.objects.IsUnstructured() || bytes.Contains(raw, []byte("metadata\":null")) {
			return
		}
		if err != nil && c.packer.objects.Partial != nil {
			return // managedFields are malformed, which a partial object skips
		}
		want := obj.(object)
		if err != nil || !maps.Equal(labels, want.GetLabels()) || !maps.Equal(annotations, want.GetAnnotations()) || !reflect.DeepEqual(owners, want.GetOwnerReferences()) {
			t.Fatalf("%v %v %v, %v; want %v\n%q", labels, annotations, owners, err, want, raw)
		}
	})
}

// compareLocatedMetadata reads the metadata of an item whose layout is known.
func compareLocatedMetadata(t *testing.T, c packerCase, raw []byte, wantErr error, labels, annotations map[string]string, owners []metav1.OwnerReference) {
	t.Helper()
	item := feed.Item{Key: "ns/a", Raw: raw, Codec: c.codec}
	parsed, err := wire.Parse(raw, c.packer.format)
	if err != nil {
		return // not an item of a list
	}
	_, item.Layout, _ = parsed.Identify()
	_, err = IndexMetadata(item, func(m Metadata) ([]string, error) {
		if !maps.Equal(m.GetLabels(), labels) || !maps.Equal(m.GetAnnotations(), annotations) || !reflect.DeepEqual(m.GetOwnerReferences(), owners) {
			t.Fatalf("with the layout %+v: %v %v %v, want %v %v %v\n%q", item.Layout, m.GetLabels(), m.GetAnnotations(), m.GetOwnerReferences(), labels, annotations, owners, raw)
		}
		return nil, nil
	})
	if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
		t.Fatalf("with the layout %+v: %v, want %v\n%q", item.Layout, err, wantErr, raw)
	}
}

// FuzzRedact redacts errors that quote a value as decoders do. The value is not in the text.
func FuzzRedact(f *testing.F) {
	for _, value := range []string{"hunter2", `a "quoted" value`, "line\nbreak", `\`, "'}", `{"a":"b"}`, "4711"} {
		f.Add(value, `parsing "`, `": invalid syntax`)
		f.Add(value, "json: cannot unmarshal string into Go struct field ", " of type int")
	}
	f.Fuzz(func(t *testing.T, value, before, after string) {
		if len(value) < 4 || strings.Contains(before+after+`"..."'...' number event type`, value) {
			return // the text has it anyway
		}
		before, after = strings.ReplaceAll(before, `"`, ""), strings.ReplaceAll(after, `"`, "")
		for _, text := range []string{before + strconv.Quote(value) + after, before + " Object 'Kind' is missing in '{" + value + "}'"} {
			var err error
			memory.ExpectProportional(t, len(text), 200, func() { err = withoutValues(errors.New(text)) })
			if strings.Contains(before+after, "'") || strings.Contains(before+after, `\`) {
				continue
			}
			if got := err.Error(); strings.Contains(got, value) {
				t.Fatalf("redacted %q to %q", text, got)
			}
		}
	})
}
