// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
	"github.com/kinformer/kinformer/internal/testing/randomapi"
	"github.com/kinformer/kinformer/internal/wire"
)

// widget is a custom resource without generated code.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size    int8              `json:"size"`
		Ratio   *float64          `json:"ratio"`
		Data    []byte            `json:"data"`
		Limit   resource.Quantity `json:"limit"`
		Expires *metav1.Time      `json:"expires"`
		Parts   map[string][]bool `json:"parts"`
	} `json:"spec"`
}

func (w *widget) DeepCopyObject() runtime.Object { copied := *w; return &copied }

// widgetFields are some of a widget's fields.
type widgetFields struct {
	Spec struct {
		Size    int8              `json:"size"`
		Limit   resource.Quantity `json:"limit"`
		Expires *metav1.Time      `json:"expires"`
		Parts   map[string][]bool `json:"parts"`
	} `json:"spec"`
}

// packerCase is a way in which the objects of a collection are stored as they came.
type packerCase struct {
	raw    []byte
	codec  feed.Codec // of the wire
	packer *Packer
}

func newPackerCase(objects ObjectType, format wire.Format, raw []byte) packerCase {
	return packerCase{
		raw:    raw,
		codec:  NewDecoders(objects, Options{Packed: true}).ForList().For(&wire.Item{Format: format}),
		packer: NewPacker(objects, Options{}, func() bool { return false }),
	}
}

func packerCases(tb testing.TB) map[string]packerCase {
	tb.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web", UID: "uid", CreationTimestamp: metav1.NewTime(time.Unix(1_700_000_000, 0)), Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", UID: "owner", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("250m")}}}}},
	}
	protobuf, _ := randomapi.Encode(tb, pod)
	text := []byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","creationTimestamp":"2024-01-02T03:04:05Z","ownerReferences":[{"uid":"u","controller":true}]},` +
		`"spec":{"size":12,"ratio":1.5e3,"data":"AQID","limit":"1Gi","expires":"2024-01-02T03:04:05Z","parts":{"a":[true,false]},"unknown":[{"a":"\"1e999"}]}}`)
	pods, widgets, untyped := ObjectType{GoType: podType}, ObjectType{GoType: reflect.TypeFor[*widget]()}, ObjectType{GoType: reflect.TypeFor[*unstructured.Unstructured]()}
	return map[string]packerCase{
		"generated":            newPackerCase(pods, wire.Protobuf, protobuf),
		"unstructured":         newPackerCase(untyped, wire.JSON, text),
		"typed":                newPackerCase(widgets, wire.JSON, text),
		"partial generated":    newPackerCase(partialTypeOf[nodeName](tb, pods.GoType), wire.Protobuf, protobuf),
		"partial typed":        newPackerCase(partialTypeOf[widgetFields](tb, widgets.GoType), wire.JSON, text),
		"partial unstructured": newPackerCase(partialTypeOf[widgetFields](tb, untyped.GoType), wire.JSON, text),
	}
}

// compare packs and decodes raw. Everything that is packed can be read, and everything that can be
// decoded is packed. It reports whether raw was packed.
func (c packerCase) compare(tb testing.TB, raw []byte) bool {
	tb.Helper()
	if c.packer.format == wire.JSON && (!bytes.HasPrefix(raw, []byte("{")) || !bytes.HasSuffix(raw, []byte("}"))) {
		return false // not what a source cuts out of a list
	}
	if len(raw) == 0 {
		return false // an item without bytes
	}
	item := feed.Item{Raw: raw, Codec: c.codec}
	packed, packErr := c.packer.Pack(item, pack.Object{}, func() (any, error) { return Decode[object](item) })
	c.compareLocated(tb, item, packed, packErr)
	if _, err := c.codec.Decode(raw); (err == nil) != (packErr == nil) {
		tb.Fatalf("Pack returns %v, Decode %v\n%q", packErr, err, raw)
	}
	if packErr != nil {
		return false
	}
	if _, err := c.packer.Unpack(packed); err != nil {
		tb.Fatalf("packed, but cannot be read: %v\n%q", err, raw)
	}
	return true
}

// compareLocated packs an item whose layout is known. The result is that of an item without a
// layout.
func (c packerCase) compareLocated(tb testing.TB, item feed.Item, want pack.Object, wantErr error) {
	tb.Helper()
	parsed, err := wire.Parse(item.Raw, c.packer.format)
	if err != nil {
		return // not an item of a list
	}
	_, item.Layout, _ = parsed.Identify()
	got, err := c.packer.Pack(item, pack.Object{}, func() (any, error) { return Decode[object](item) })
	if (err == nil) != (wantErr == nil) {
		tb.Fatalf("with the layout %+v, Pack returns %v, want %v\n%q", item.Layout, err, wantErr, item.Raw)
	}
	if err != nil {
		return
	}
	gotRaw, gotErr := got.Unpack(nil)
	wantRaw, wantErr := want.Unpack(nil)
	if gotErr != nil || wantErr != nil || !bytes.Equal(gotRaw, wantRaw) {
		tb.Fatalf("with the layout %+v, Pack packs %q, %v, want %q, %v", item.Layout, gotRaw, gotErr, wantRaw, wantErr)
	}
	c.compareLabels(tb, got)
	c.compareLabels(tb, want)
}

// compareLabels reads the labels of a packed object without and with decoding it.
func (c packerCase) compareLabels(tb testing.TB, packed pack.Object) {
	tb.Helper()
	unpacked, err := c.packer.Unpack(packed)
	if err != nil {
		return // which compare reports
	}
	labels, err := c.packer.Labels(packed)
	if want := unpacked.(object).GetLabels(); err == nil && !maps.Equal(labels, want) {
		tb.Fatalf("Labels returns %v, want %v", labels, want)
	}
}

// TestPackedObjectEqualsDecodedObject packs the bytes of lists and watches. A typed object in JSON
// has its kind by list only.
func TestPackedObjectEqualsDecodedObject(t *testing.T) {
	for name, c := range packerCases(t) {
		decoders := NewDecoders(c.packer.objects, Options{Packed: true})
		for request, codecs := range map[string]*Codecs{"list": decoders.ForList(), "watch": decoders.ForWatch()} {
			t.Run(name+" of a "+request, func(t *testing.T) {
				item := feed.Item{Raw: c.raw, Codec: codecs.For(&wire.Item{Format: c.packer.format, APIVersion: "example.com/v1", Kind: "Widget"})}
				want, err := Decode[object](item)
				if err != nil {
					t.Fatal(err)
				}
				packed, err := c.packer.Pack(item, pack.Object{}, func() (any, error) { return Decode[object](item) })
				if err != nil {
					t.Fatal(err)
				}
				if obj, err := c.packer.Unpack(packed); err != nil || !reflect.DeepEqual(obj, want) {
					t.Errorf("unpacked %#v, %v, want %#v", obj, err, want)
				}
			})
		}
	}
}

// TestUnpackUpdate unpacks both states of an update. The zero pack.Object, whose bytes cannot be
// unpacked, stands for states whose bytes are not looked at because they are JSON.
func TestUnpackUpdate(t *testing.T) {
	for name, c := range packerCases(t) {
		timing := new(Timing)
		packer := NewPacker(c.packer.objects, Options{Timing: timing}, func() bool { return false })
		if c.packer.format == wire.JSON {
			if _, err := packer.UnpackUpdate(pack.Object{}, pack.Object{}); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s: error %v", name, err)
			}
			continue
		}
		decoded, err := Decode[object](feed.Item{Raw: c.raw, Codec: c.codec})
		if err != nil {
			t.Fatal(err)
		}
		decoded.SetLabels(map[string]string{"updated": "yes"})
		old, err := packer.Pack(feed.Item{Raw: c.raw, Codec: c.codec}, pack.Object{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		updated, err := packer.Pack(feed.Item{Object: decoded}, old, func() (any, error) { return decoded, nil })
		if err != nil {
			t.Fatal(err)
		}
		if states, err := packer.UnpackUpdate(old, updated); c.packer.objects.Partial != nil { // the new one is JSON
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s: error %v", name, err)
			}
			updated = old
		} else if err != nil || !reflect.DeepEqual(states[1], decoded) {
			t.Errorf("%s: unpacked %v, %v, want %v", name, states[1], err, decoded)
		}
		before, _ := timing.Total()
		states, err := packer.UnpackUpdate(old, updated)
		if after, _ := timing.Total(); err != nil || after-before != 2 {
			t.Errorf("%s: %d objects were decoded, error %v", name, after-before, err)
		}
		for i, state := range []pack.Object{old, updated} {
			if want, err := packer.Unpack(state); err != nil || !reflect.DeepEqual(states[i], want) {
				t.Errorf("%s: state %d is %v, want %v, %v", name, i, states[i], want, err)
			}
		}
	}
}

// TestPackRejectsWhatCannotBeDecoded cuts and changes objects at every byte.
func TestPackRejectsWhatCannotBeDecoded(t *testing.T) {
	for name, c := range packerCases(t) {
		t.Run(name, func(t *testing.T) {
			random, packed, tried := rand.New(rand.NewPCG(1, 1)), 0, 0
			try := func(raw []byte) {
				tried++
				if c.compare(t, raw) {
					packed++
				}
			}
			if try(c.raw); packed != 1 {
				t.Error("a valid object is rejected")
			}
			raw := bytes.Clone(c.raw)
			for i := range raw {
				try(raw[:i])
				was := raw[i]
				for _, b := range []byte{was + 1, was ^ 1<<random.IntN(7), '9', '"', 0xff} {
					raw[i] = b
					try(raw)
				}
				raw[i] = was
			}
			if packed < tried/10 || packed > tried*9/10 {
				t.Errorf("%d of %d were packed, want some and not all", packed, tried)
			}
		})
	}
}

// TestPackRejectsValuesOutOfRange packs JSON whose syntax is valid.
func TestPackRejectsValuesOutOfRange(t *testing.T) {
	cases := packerCases(t)
	for _, c := range []struct {
		old, new string
		rejected []string
	}{
		{`"size":12`, `"size":400`, []string{"typed", "partial typed"}},
		{`"size":12`, `"size":"12"`, []string{"typed", "partial typed"}},
		{`"ratio":1.5e3`, `"ratio":1e999`, []string{"typed", "unstructured"}},
		{`"data":"AQID"`, `"data":"*"`, []string{"typed"}},
		{`"limit":"1Gi"`, `"limit":"many"`, []string{"typed", "partial typed"}},
		{`"expires":"2024-01-02T03:04:05Z"`, `"expires":"tomorrow"`, []string{"typed", "partial typed"}},
		{`"a":[true,false]`, `"a":{"b":true}`, []string{"typed", "partial typed"}},
		{`"spec":{`, `"spec":{"other":[-1E-999,2e-400,` + string(bytes.Repeat([]byte("9"), 400)) + `],`, []string{"unstructured"}},
		{`"metadata":{`, `"metadata":{"labels":[],`, []string{"typed", "partial typed"}},
	} {
		for _, name := range []string{"typed", "unstructured", "partial typed"} {
			raw := bytes.Replace(cases[name].raw, []byte(c.old), []byte(c.new), 1)
			if !json.Valid(raw) || bytes.Equal(raw, cases[name].raw) {
				t.Fatalf("%s makes no valid object", c.new)
			}
			if packed := cases[name].compare(t, raw); packed == slices.Contains(c.rejected, name) {
				t.Errorf("%s, %s: packed %v", name, c.new, packed)
			}
		}
	}
}

// TestSlowQuantityIsRejected decodes custom resources with quantities that apimachinery parses for
// hours. An annotation may have any text.
func TestSlowQuantityIsRejected(t *testing.T) {
	cases := packerCases(t)
	for _, limit := range []string{`"1e-10000000"`, `"0.1e-2147483647"`, `1e-2147483647`, `" 1e-2147483647 "`, `"` + strings.Repeat("9", 5000) + `"`} {
		raw := bytes.Replace(cases["typed"].raw, []byte(`"limit":"1Gi"`), []byte(`"limit":`+limit), 1)
		for _, name := range []string{"typed", "partial typed", "partial unstructured"} {
			if _, err := cases[name].codec.Decode(raw); err == nil || !strings.Contains(err.Error(), "quantity has too many digits") {
				t.Errorf("%s, limit %.20s: error %v", name, limit, err)
			}
			if cases[name].compare(t, raw) {
				t.Errorf("%s, limit %.20s was packed", name, limit)
			}
		}
		if _, err := cases["unstructured"].codec.Decode(raw); err != nil {
			t.Errorf("unstructured, limit %.20s: error %v", limit, err)
		}
	}
	raw := bytes.Replace(cases["typed"].raw, []byte(`"metadata":{`), []byte(`"metadata":{"annotations":{"a":"git-1e-12345678"},`), 1)
	if _, err := cases["typed"].codec.Decode(raw); err != nil {
		t.Errorf("an annotation that is no quantity: error %v", err)
	}
}

// fuzzCases fuzzes each of packerCases with arbitrary bytes.
func fuzzCases(f *testing.F, test func(t *testing.T, c packerCase, raw []byte)) {
	f.Helper()
	cases := packerCases(f)
	names := slices.Sorted(maps.Keys(cases))
	for n, name := range names {
		f.Add(byte(n), cases[name].raw)
	}
	f.Fuzz(func(t *testing.T, n byte, raw []byte) { test(t, cases[names[int(n)%len(names)]], raw) })
}

// FuzzPack packs and decodes arbitrary bytes; see packerCase.compare.
func FuzzPack(f *testing.F) {
	fuzzCases(f, func(t *testing.T, c packerCase, raw []byte) {
		t.Helper()
		memory.ExpectProportional(t, len(raw), bytesPerByte, func() { _, _ = c.codec.Decode(raw) })
		c.compare(t, raw)
	})
}

// No bytes are a valid message of an empty object, but a missing object to an informer.
func TestPackRejectsItemWithoutBytes(t *testing.T) {
	for name, c := range packerCases(t) {
		for _, raw := range [][]byte{nil, {}} {
			item := feed.Item{Raw: raw, Codec: c.codec}
			if _, err := c.packer.Pack(item, pack.Object{}, func() (any, error) { return Decode[object](item) }); err == nil {
				t.Errorf("%s: an item without bytes was packed", name)
			}
		}
	}
}
