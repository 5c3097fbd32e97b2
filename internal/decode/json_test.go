// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	kjson "sigs.k8s.io/json"

	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// checkJSON compares Decode, and Check of objects in valid JSON, with apimachinery's decoder.
func checkJSON(tb testing.TB, j *JSON, raw []byte) {
	tb.Helper()
	var want map[string]any
	wantErr := kjson.UnmarshalCaseSensitivePreserveInts(raw, &want)
	got, err := j.Decode(raw)
	if (err == nil) != (wantErr == nil) {
		tb.Fatalf("Decode(%q) = error %v, apimachinery's decoder returns %v", raw, err, wantErr)
	}
	if json.Valid(raw) && bytes.HasPrefix(raw, []byte("{")) {
		if err := j.Check(raw); (err == nil) != (wantErr == nil) {
			tb.Fatalf("Check(%q) = error %v, apimachinery's decoder returns %v", raw, err, wantErr)
		}
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		tb.Fatalf("Decode(%q) = %#v\nwant %#v", raw, got, want)
	}
}

// documents returns valid and invalid documents.
func documents() []string {
	deep := strings.Repeat(`{"a":`, maxDepth+5)
	return []string{
		`{}`, ` { } `, `null`, ``, `[]`, `1`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a":1}x`, "{\"a\":1}\x00", `{,}`, `{"a" 1}`, `{a:1}`,
		`{"a":1,"a":{"b":2},"a":3}`, `{"a":null,"b":true,"c":false,"d":"","e":[],"f":{}}`, `{"a":nul}`, `{"a":[1,2,]}`, `{"a":[,]}`,
		`{"a":0,"b":-0,"c":-1,"d":01,"e":1}`, `{"a":-}`, `{"a":1.0}`, `{"a":1e3}`, `{"a":1E+2,"b":0.5,"c":-0.0}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e400}`,
		`{"a":9223372036854775807,"b":9223372036854775808,"c":-9223372036854775808,"d":123456789012345,"e":1234567890123456}`, `{"a":1-2}`, `{"a":+1}`,
		`{"a":"1e400","b\"":["1e400\\",1E400]}`, `{"a":[-1e-400,` + strings.Repeat("9", 400) + `]}`, `{"a":` + strings.Repeat("9", 308) + `.5}`,
		`{"a":"\u0041\n\"\\\/","b\u0062":1,"c":"\ud83d\ude00","d":"\ud83d"}`, `{"a":"\x"}`, "{\"a\":\"\xff\"}", "{\"\xff\":1}", "{\"a\":\"\n\"}", `{"a":"é世界"}`,
		`{"a":"` + strings.Repeat("long ", 500) + `"}`, `{"` + strings.Repeat("long ", 500) + `":1}`,
		deep + `1` + strings.Repeat(`}`, maxDepth+5), deep + `1`, `{"metadata":{"name":"a","labels":{"app":"a"}},"spec":{"items":["a","b",["c",{"d":"a"}]]}}`,
	}
}

func TestJSONDecodesLikeApimachinery(t *testing.T) {
	j := NewJSON(Options{})
	for range 2 { // the second round hits the tables
		for _, document := range documents() {
			checkJSON(t, j, []byte(document))
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, document := range documents() {
		f.Add([]byte(document))
	}
	j := NewJSON(Options{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		memory.ExpectProportional(t, len(raw), 500, func() { _, _ = j.Decode(raw) })
		checkJSON(t, j, raw)
	})
}

// TestJSONSharesNamesAndStrings also checks that objects share nothing else.
func TestJSONSharesNamesAndStrings(t *testing.T) {
	j := NewJSON(Options{})
	decode := func() map[string]any {
		object, err := j.Decode([]byte(`{"kind":"Database","spec":{"list":["x"]}}`))
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	first, second := decode(), decode()
	if a, b := first["kind"].(string), second["kind"].(string); unsafe.StringData(a) != unsafe.StringData(b) {
		t.Error("equal strings do not share memory")
	}
	if a, b := specKey(first), specKey(second); unsafe.StringData(a) != unsafe.StringData(b) {
		t.Error("equal member names do not share memory")
	}
	first["spec"].(map[string]any)["list"].([]any)[0] = "changed"
	if got := second["spec"].(map[string]any)["list"].([]any)[0]; got != "x" {
		t.Errorf("a write into one object changed the other to %q", got)
	}
}

// specKey returns the key "spec" of an object.
func specKey(object map[string]any) string {
	for name := range object {
		if name == "spec" {
			return name
		}
	}
	return ""
}

// TestJSONTablesAreBounded checks that the decoder's memory does not grow with the number of
// distinct strings and member names.
func TestJSONTablesAreBounded(t *testing.T) {
	j := NewJSON(Options{})
	halfway := 0.0
	for i := range jsonDocuments {
		raw := fmt.Appendf(nil, `{"kind":"Database","uid":"%d","data":{"key-%d":"value-%d"}}`, i, i, i)
		if _, err := j.Decode(raw); err != nil {
			t.Fatal(err)
		}
		if i == jsonDocuments/2 {
			halfway = process.LiveHeap()
		}
	}
	growth := process.LiveHeap() - halfway
	t.Logf("%.0f bytes", growth)
	if growth > 200_000 {
		t.Errorf("the heap has grown by %.0f bytes over %d documents", growth, jsonDocuments/2)
	}
	runtime.KeepAlive(j)
}
