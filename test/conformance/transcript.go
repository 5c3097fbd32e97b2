// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Transcript maps the name of a script to its steps, each followed by the indented lines of its
// response.
type Transcript map[string]string

//go:embed recorded/*.txt
var recorded embed.FS

// Recorded returns the recorded transcript of kube-apiserver v1.36.3.
func Recorded(tb testing.TB) Transcript {
	tb.Helper()
	entries, err := recorded.ReadDir("recorded")
	if err != nil {
		tb.Fatal(err)
	}
	t := Transcript{}
	for _, entry := range entries {
		data, err := recorded.ReadFile("recorded/" + entry.Name())
		if err != nil {
			tb.Fatal(err)
		}
		t[strings.TrimSuffix(entry.Name(), ".txt")] = string(data)
	}
	return t
}

// Compare reports, as test errors, the steps whose responses differ between got, the transcript of
// the fake server, and want, that of kube-apiserver, and that are not in [Differences]. It also
// reports steps in Differences whose responses are the same.
func Compare(tb testing.TB, got, want Transcript) {
	tb.Helper()
	unused := map[Difference]bool{}
	for _, d := range Differences() {
		unused[d] = true
	}
	for _, script := range slices.Sorted(maps.Keys(want)) {
		compareScript(tb, script, blocks(got[script]), blocks(want[script]), unused)
	}
	for d := range unused {
		tb.Errorf("%s: %q is in Differences, but the responses are the same", d.Script, d.Step)
	}
}

func compareScript(tb testing.TB, script string, gotBlocks, wantBlocks []block, unused map[Difference]bool) {
	tb.Helper()
	if len(gotBlocks) != len(wantBlocks) {
		tb.Errorf("%s: got responses to %d steps, want %d", script, len(gotBlocks), len(wantBlocks))
		return
	}
	for i, want := range wantBlocks {
		if got := gotBlocks[i]; got.response != want.response && !isKnownDifference(script, got, unused) {
			tb.Errorf("%s: %s\n  got:\n%s  want:\n%s", script, want.step, got.response, want.response)
		}
	}
}

// isKnownDifference reports whether Differences contains the step, and if so removes it from
// unused.
func isKnownDifference(script string, got block, unused map[Difference]bool) bool {
	for _, d := range Differences() {
		if d.Script == script && strings.HasPrefix(got.step, d.Step) {
			delete(unused, d)
			return true
		}
	}
	return false
}

// CompareRecorded reports, as test errors, the steps whose responses differ between two transcripts
// of kube-apiserver. It ignores the steps in [Differences].
func CompareRecorded(tb testing.TB, got, want Transcript) {
	tb.Helper()
	for _, script := range slices.Sorted(maps.Keys(want)) {
		compareScript(tb, script, blocks(got[script]), blocks(want[script]), nil)
	}
}

// block is one step with its response.
type block struct{ step, response string }

func blocks(text string) []block {
	var all []block
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, " ") {
			all = append(all, block{step: strings.TrimSpace(line)})
			continue
		}
		if len(all) == 0 {
			panic(fmt.Sprintf("transcript begins without a step: %q", line))
		}
		all[len(all)-1].response += line
	}
	return all
}
