// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// maxRuns is the number of runs on each side if the first differ.
const maxRuns = 3

// trial runs the tests of a package on both sides.
type trial struct {
	workspace *workspace
	pkg       testPackage
	run       string // the value of -test.run
	progress  func(step string)
}

// compare compiles the tests and runs them once on each side, and twice more if other tests fail.
func (t *trial) compare(ctx context.Context) (tried, error) {
	t.progress("compile")
	binary, err := t.workspace.compile(ctx, t.pkg)
	switch {
	case ctx.Err() != nil:
		return tried{}, context.Cause(ctx)
	case errors.Is(err, errBroken):
		return tried{Result: notTried, Reason: err.Error()}, nil
	case err != nil:
		return tried{Result: differs, Reason: err.Error()}, nil //nolint:nilerr // the error is the result
	}
	runs := map[side][]*execution{}
	for i := range maxRuns {
		for _, on := range []side{clientGoSide, kinformer} {
			t.progress(fmt.Sprintf("run %d on %s", i+1, on))
			e, err := execute(ctx, t.workspace.folder, binary, t.pkg, on, t.run)
			if err != nil {
				return tried{}, fmt.Errorf("run the tests of %s: %w", t.pkg.path, err)
			}
			runs[on] = append(runs[on], e)
		}
		if i == 0 && failEqually(runs[clientGoSide][0], runs[kinformer][0]) {
			break
		}
	}
	return summarize(runs[clientGoSide], runs[kinformer]), nil
}

// failEqually reports whether the same tests failed.
func failEqually(a, b *execution) bool {
	return maps.EqualFunc(a.failed, b.failed, func([]string, []string) bool { return true })
}

// summarize compares the runs of both sides.
func summarize(theirs, ours []*execution) tried {
	result := tried{
		Result: equal, Runs: len(ours), ClientGo: measure(theirs[0]), Kinformer: measure(ours[0]),
		Informers: ours[0].informers.kinformer, NotReplaced: ours[0].informers.clientGo,
	}
	names := map[string]bool{}
	for _, e := range slices.Concat(theirs, ours) {
		for name := range e.failed {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f := failure{Test: name, ClientGo: count(theirs, name), Kinformer: count(ours, name)}
		if f.kind(len(ours)) == differs {
			result.Result = differs
			f.Output = output(ours, theirs, name)
		}
		result.Failures = append(result.Failures, f)
	}
	if result.Informers == 0 {
		result.Result, result.Reason = notTried, "no informer made"
	}
	return result
}

func measure(e *execution) *figures {
	return &figures{Tests: e.tests, Failed: len(e.failed), Seconds: e.seconds, PeakRSSBytes: e.peakRSS}
}

// count returns the number of runs in which a test failed.
func count(runs []*execution, test string) (n int) {
	for _, e := range runs {
		if _, failed := e.failed[test]; failed {
			n++
		}
	}
	return n
}

// output returns the end of a test's output in the first run in which it failed.
func output(ours, theirs []*execution, test string) []string {
	for _, e := range slices.Concat(ours, theirs) {
		if lines, failed := e.failed[test]; failed {
			return lines
		}
	}
	return nil
}
