// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "output.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	tried = `{"packages": [
		{"package": "./a", "result": "equal", "clientGo": {"informers": 4, "tests": 3, "peakRSSBytes": 50000000}, "kinformer": {"informers": 4, "tests": 3, "failed": 1}},
		{"package": "./b", "result": "not tried", "clientGo": {"tests": 3}, "kinformer": {"tests": 3}},
		{"package": "./c", "result": "not tried"}
	], "binaries": [
		{"package": ".", "beforeBytes": 39400000, "afterBytes": 43540000},
		{"package": "./broken", "beforeBytes": 39400000}
	]}`
	measured = `{"resources": [{"resource": "pods", "objects": 1500, "choice": "kinformer, packed", "savedBytes": 28900000, "caches": [
		{"cache": "client-go", "heapBytes": 30200000, "peakRSSBytes": 68500000},
		{"cache": "kinformer", "heapBytes": 19100000, "peakRSSBytes": 25800000},
		{"cache": "kinformer, packed", "heapBytes": 1330000, "peakRSSBytes": 7960000}
	]}]}`
)

func TestTextHasWhatTheOtherCommandsMeasured(t *testing.T) {
	tests, cost, err := Read(write(t, tried), write(t, measured))
	if err != nil {
		t.Fatal(err)
	}
	text := Text{Tests: tests, Cost: cost, Vendored: &Vendored{Added: 1292, Changed: 1, BeforeBytes: 52_080_000, AfterBytes: 51_750_000}, Modules: []Module{{"github.com/kinformer/kinformer", "", "v0.1.0"}, {"k8s.io/api", "v0.36.0", "v0.36.3"}}}
	text.Lines.Add([]byte("a\nb\nb\n"), []byte("b\nc\nd\na\n"))
	var out strings.Builder
	text.Print(&out)
	const want = `
Text for the pull request:

This makes the program use [kinformer](https://github.com/kinformer/kinformer)'s informers in place of client-go's.
It changes 1 Go file: 2 lines added, 1 removed. Handlers, listers and tests stay.
BACKgo mod vendorBACK adds 1,292 files, changes 1 and removes 0: BACKvendorBACK has 52.1 MB before, 51.8 MB after (-0.6 %).

| module | before | after |
|---|---|---|
| github.com/kinformer/kinformer | none | v0.1.0 |
| k8s.io/api | v0.36.0 | v0.36.3 |

| binary, by BACKgo build -trimpathBACK | before | after | |
|---|---|---|---|
| . | 39.4 MB | 43.5 MB | +10.5 % |
| ./broken | 39.4 MB | not built |  |

The program's own tests with client-go's informers / with kinformer's (BACKkinformer tryBACK):

| package | tests | failed | peak RSS, MB | result |
|---|---|---|---|---|
| ./a | 3 / 3 | 0 / 1 | 50.0 / ? | equal |

Memory of a cache with client-go / with kinformer (BACKkinformer costBACK):

| resource | objects | heap, MB | peak RSS, MB |
|---|---|---|---|
| pods | 1,500 | 30.2 / 19.1 | 68.5 / 25.8 |

The way back is to revert this commit. To decide when the program starts, pass a flag of the program as
BACKUseClientGoBACK in BACKclientgo.OptionsBACK: https://github.com/kinformer/kinformer/blob/main/docs/adopting.md#the-line-and-the-way-back
`
	if diff := cmp.Diff(strings.ReplaceAll(want, "BACK", "`"), out.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if !cost.Resources[0].IsPacked() {
		t.Error("cost chooses another cache")
	}
	out.Reset()
	text.Packed, text.TestsChange = true, true
	text.Print(&out)
	if !strings.Contains(out.String(), " Handlers and listers stay.\n") || !strings.Contains(out.String(), "\n| pods | 1,500 | 30.2 / 1.33 | 68.5 / 7.96 |\n") {
		t.Errorf("packed:\n%s", out.String())
	}
}

func TestTextSaysWhatWasNotMeasured(t *testing.T) {
	tests, cost, err := Read("", "")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	(&Text{Tests: tests, Cost: cost}).Print(&out)
	for _, want := range []string{"\ngo.mod requires the same modules.\n", "\nTests on both informers, and binaries: not measured; ", "\nHeap and peak in a cluster: not measured; "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	out.Reset()
	(&Text{Tests: &Tests{}}).Print(&out)
	for _, other := range []string{"vendor", "binar"} {
		if strings.Contains(out.String(), other) {
			t.Errorf("the text of a program without a main package, not vendored, has %q:\n%s", other, out.String())
		}
	}
}

func TestUnusableFilesAreErrors(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.json")
	for _, test := range []struct{ try, cost, want string }{
		{missing, "", "read --try: open "},
		{"", missing, "read --cost: open "},
		{write(t, measured), "", " has no packages"},
		{"", write(t, tried), " has no resources"},
		{write(t, strings.Replace(tried, "{", `{"notRun": 2, `, 1)), "", " was stopped: 2 packages not tried"},
		{write(t, "no JSON"), "", ": invalid character"},
	} {
		if _, _, err := Read(test.try, test.cost); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
}
