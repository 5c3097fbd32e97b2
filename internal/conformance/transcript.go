package conformance

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Transcript is what a server answered: for each script its steps, each followed by the lines of its answer, which are indented.
type Transcript map[string]string

//go:embed recorded/*.txt
var recorded embed.FS

// Recorded returns what kube-apiserver v1.36.3 answered when somebody last looked.
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

// Compare reports each step to which the two servers do not answer the same, unless Differences has it. It reports what Differences has in vain too.
func Compare(tb testing.TB, embedded, genuine Transcript) {
	tb.Helper()
	unused := map[Difference]bool{}
	for _, d := range Differences() {
		unused[d] = true
	}
	for _, script := range slices.Sorted(maps.Keys(genuine)) {
		compare(tb, script, blocks(embedded[script]), blocks(genuine[script]), unused)
	}
	for d := range unused {
		tb.Errorf("%s: %q is listed as a difference, and there is none", d.Script, d.Step)
	}
}

func compare(tb testing.TB, script string, embedded, genuine []block, unused map[Difference]bool) {
	tb.Helper()
	if len(embedded) != len(genuine) {
		tb.Errorf("%s: %d steps were answered by the embedded server, %d by the real one", script, len(embedded), len(genuine))
		return
	}
	for i, want := range genuine {
		if got := embedded[i]; got.answer != want.answer && !excused(script, got, unused) {
			tb.Errorf("%s: %s\n  embedded:\n%s  real:\n%s", script, want.step, got.answer, want.answer)
		}
	}
}

// excused tells whether a difference is a reviewed one.
func excused(script string, got block, unused map[Difference]bool) bool {
	for _, d := range Differences() {
		if d.Script == script && strings.HasPrefix(got.step, d.Step) {
			delete(unused, d)
			return true
		}
	}
	return false
}

// Same reports each step to which two servers that should be alike do not answer the same.
func Same(tb testing.TB, got, want Transcript) {
	tb.Helper()
	for _, script := range slices.Sorted(maps.Keys(want)) {
		compare(tb, script, blocks(got[script]), blocks(want[script]), nil)
	}
}

// block is one step and its answer.
type block struct{ step, answer string }

func blocks(text string) []block {
	var all []block
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, " ") {
			all = append(all, block{step: strings.TrimSpace(line)})
			continue
		}
		if len(all) == 0 {
			panic(fmt.Sprintf("a transcript begins with an answer: %q", line))
		}
		all[len(all)-1].answer += line
	}
	return all
}
