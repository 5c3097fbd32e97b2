// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinformer/kinformer/internal/layout"
	"github.com/kinformer/kinformer/internal/wire"
)

// checkLayout compares the layout of a split object with what parsing its bytes finds, and the
// object read by its layout with the parsed one.
func checkLayout(t *testing.T, item resultItem, format wire.Format) {
	t.Helper()
	raw := []byte(item.raw)
	parsed, err := wire.Parse(raw, format)
	if err != nil {
		t.Fatalf("%v\n%q", err, raw)
	}
	if item.metaErr {
		if item.layout != (layout.Object{}) {
			t.Fatalf("an object without an identity has the layout %+v\n%q", item.layout, raw)
		}
		return
	}
	meta, at, err := parsed.Identify()
	if at.SmallNumbers = item.layout.SmallNumbers; err != nil || at != item.layout && item.layout != (layout.Object{}) {
		t.Fatalf("the layout is %+v, want %+v, %v\n%q", item.layout, at, err, raw)
	}
	located, ok := wire.Located(raw, format, item.layout)
	if ok != (item.layout.Length > 0) {
		t.Fatalf("Located returned %v for the layout %+v\n%q", ok, item.layout, raw)
	}
	if !ok {
		return
	}
	checkMetadata(t, raw, format, item.layout.Metadata)
	want, wantErr := parsed.ControllerUID()
	if got, err := located.ControllerUID(); got != want || fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("ControllerUID returned %q, %v, want %q, %v\n%q", got, err, want, wantErr, raw)
	}
	if format == wire.JSON {
		if got, want := located.AppendWithoutKind(nil), parsed.AppendWithoutKind(nil); !bytes.Equal(got, want) {
			t.Fatalf("AppendWithoutKind returned %q, want %q", got, want)
		}
		if located.Kind != parsed.Kind || located.APIVersion != parsed.APIVersion {
			t.Fatalf("%q %q, want %q %q", located.APIVersion, located.Kind, parsed.APIVersion, parsed.Kind)
		}
	}
	if got, err := located.Meta(); err != nil || got != meta {
		t.Fatalf("Meta returned %+v, %v, want %+v\n%q", got, err, meta, raw)
	}
}

// labelsOf reads the labels at their place. known is false if that is not known.
func labelsOf(item *wire.Item) (labels map[string]string, known bool, err error) {
	_, at, err := item.Identify()
	if err != nil || !at.Fits(item.Raw) {
		return nil, false, err
	}
	labels, err = wire.ReadLabels(at.Labels.Of(item.Raw))
	return labels, true, err
}

// checkMetadata decodes the metadata of an object at its place and as a part of the object.
func checkMetadata(t *testing.T, raw []byte, format wire.Format, at layout.Span) {
	t.Helper()
	var whole metav1.PartialObjectMetadata
	var alone metav1.ObjectMeta
	var wholeErr, aloneErr error
	if format == wire.Protobuf {
		wholeErr, aloneErr = whole.Unmarshal(raw), alone.Unmarshal(at.Of(raw))
	} else {
		var object struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		wholeErr = json.Unmarshal(raw, &object)
		if whole.ObjectMeta = object.Metadata; !at.IsZero() {
			aloneErr = json.Unmarshal(at.Of(raw), &alone)
		}
	}
	if wholeErr == nil && (aloneErr != nil || !reflect.DeepEqual(whole.ObjectMeta, alone)) {
		t.Fatalf("the metadata is %+v, %v, want %+v\n%q", alone, aloneErr, whole.ObjectMeta, raw)
	}
}

// TestLayoutThatDoesNotFitIsIgnored gives each object layouts of others, with every place moved.
func TestLayoutThatDoesNotFitIsIgnored(t *testing.T) {
	for name, pod := range ownedPods() {
		for _, format := range formats {
			raw := rawOf(t, format, pod)
			parsed := parse(t, raw, format)
			_, at, err := parsed.Identify()
			if err != nil || at.Length == 0 {
				t.Fatalf("%s in %v: layout %+v, %v", name, format, at, err)
			}
			if _, ok := wire.Located(append(raw[:len(raw):len(raw)], ' '), format, at); ok {
				t.Errorf("%s in %v: a layout of fewer bytes was used", name, format)
			}
			beyond := at
			beyond.Owners = layout.NewSpan(1, len(raw)+1)
			if _, ok := wire.Located(raw, format, beyond); ok {
				t.Errorf("%s in %v: a layout beyond the bytes was used", name, format)
			}
			want, err := parsed.ControllerUID()
			if err != nil || format == wire.Protobuf && at.Owners.IsZero() {
				continue
			}
			for _, by := range []int{-1, 1} {
				moved := at
				for _, part := range []*layout.Span{&moved.APIVersion, &moved.Kind, &moved.Metadata, &moved.Owners} {
					if !part.IsZero() {
						*part = part.Move(by, by)
					}
				}
				item, ok := wire.Located(raw, format, moved)
				if !ok {
					continue
				}
				if got, err := item.ControllerUID(); err != nil || got != want && format == wire.JSON {
					t.Errorf("%s in %v, moved by %d: controller %q, %v; want %q", name, format, by, got, err, want)
				}
			}
		}
	}
}

// TestLayoutIsNotKnownOfDuplicates covers objects whose parts are merged, or not, by their type.
func TestLayoutIsNotKnownOfDuplicates(t *testing.T) {
	for text, known := range map[string]bool{
		`{"kind":"Pod","metadata":{"name":"a"}}`:                             true,
		`{"kind":"Pod","metadata":{"name":"a"},"kind":"Pod"}`:                false,
		`{"metadata":{"name":"a"},"metadata":{"uid":"u"}}`:                   false,
		`{"metadata":{"name":"a","ownerReferences":[],"ownerReferences":1}}`: false,
		`{"metadata":{"name":"a"},"spec":{},"spec":{}}`:                      true,
	} {
		item := parse(t, []byte(text), wire.JSON)
		if _, at, err := item.Identify(); err != nil || (at.Length > 0) != known {
			t.Errorf("%s: layout %+v, %v, want one: %v", text, at, err, known)
		}
	}
	metadata := []byte("\x0a\x03\x0a\x01a")
	item := parse(t, append(metadata, metadata...), wire.Protobuf)
	if _, at, err := item.Identify(); err != nil || at != (layout.Object{}) {
		t.Errorf("two metadata messages: layout %+v, %v", at, err)
	}
}

// TestLargeNumbersAreFound covers numbers that a float64 cannot hold, wherever they arrive.
func TestLargeNumbersAreFound(t *testing.T) {
	long := strings.Repeat("1", 400)
	for number, small := range map[string]bool{
		"0": true, "-1": true, "12.5": true, strings.Repeat("1", 300): true, `"1e999"`: true,
		"1e999": false, "1E-2": false, "-" + long: false, long: false, "0." + long: false,
	} {
		for _, text := range []string{
			`{"metadata":{"name":"a"},"spec":{"a":` + number + `}}`,
			`{"metadata":{"name":"a"},"spec":{"a":[{"b":[` + number + `]}]}}`,
			`{"metadata":{"name":"a","generation": ` + number + ` }}`,
		} {
			body := `{"kind":"List","items":[` + text + `]}`
			r := splitAllWays(t, []byte(body), wire.JSON, splitList)
			if r.err != nil || len(r.items) != 1 || r.items[0].layout.SmallNumbers != small {
				t.Errorf("%.40s: %+v, want small numbers: %v", text, r, small)
			}
		}
	}
}
