// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// maxRuns is the number of runs on each side if the first differ.
const maxRuns = 3

// trial runs the tests of a package on both sides.
type trial struct {
	workspace *workspace
	pkg       testPackage
	flags     []string      // of the test binary
	limit     time.Duration // of each run
	progress  func(step string)
}

// compare compiles the tests and runs them once on each side, and twice more if an outcome differs.
func (t *trial) compare(ctx context.Context) (packageResult, error) {
	t.progress("compile")
	path, err := t.workspace.compile(ctx, t.pkg)
	switch {
	case ctx.Err() != nil:
		return packageResult{}, context.Cause(ctx)
	case errors.Is(err, errBroken):
		return packageResult{Result: notTried, Reason: err.Error()}, nil
	case err != nil:
		return packageResult{Result: differs, Reason: err.Error()}, nil //nolint:nilerr // the error is the result
	}
	binary := testBinary{path: path, folder: t.pkg.dir, flags: t.flags, limit: t.limit}
	runs := map[side][]*execution{}
	for i := range maxRuns {
		for _, s := range []side{clientGoSide, kinformer} {
			t.progress(fmt.Sprintf("run %d on %s", i+1, s))
			e, err := execute(ctx, t.workspace.folder, binary, s)
			if err != nil {
				return packageResult{}, fmt.Errorf("run the tests of %s: %w", t.pkg.path, err)
			}
			runs[s] = append(runs[s], e)
		}
		if i == 0 && maps.Equal(runs[clientGoSide][0].outcomes, runs[kinformer][0].outcomes) {
			break
		}
	}
	return summarize(runs[clientGoSide], runs[kinformer]), nil
}

// summarize compares the runs of both sides.
func summarize(clientGoRuns, kinformerRuns []*execution) packageResult {
	first, second := clientGoRuns[0], kinformerRuns[0]
	result := packageResult{
		Result: equal, Runs: len(kinformerRuns), NotReplaced: second.informers.clientGo,
		ClientGo: measure(first, first.informers.clientGo), Kinformer: measure(second, second.informers.kinformer),
	}
	names := map[string]bool{}
	for _, e := range slices.Concat(clientGoRuns, kinformerRuns) {
		for name := range e.outcomes {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c := comparison{Test: name, ClientGo: outcomes(clientGoRuns, name), Kinformer: outcomes(kinformerRuns, name)}
		if c.Result = c.result(); c.Result == equal {
			continue
		}
		if c.Result == differs {
			result.Result = differs
			c.Output = outputOf(slices.Concat(kinformerRuns, clientGoRuns), name)
		}
		result.Tests = append(result.Tests, c)
	}
	if result.Result == equal && result.Kinformer.Informers == 0 {
		result.Result, result.Reason = withoutInformer(result)
	}
	return result
}

// withoutInformer returns the result, and its reason, of equal tests that made none of kinformer's
// informers.
func withoutInformer(p packageResult) (result, reason string) {
	switch {
	case p.NotReplaced > 0:
		return notTried, "informers only made before the constructors are replaced"
	case p.ClientGo.Informers > 0:
		return differs, "informers only made on client-go's side"
	}
	return notTried, "no informer made"
}

func measure(e *execution, informers int) *figures {
	return &figures{
		Informers: informers, Tests: e.count(passed, failed, notEnded), Failed: e.count(failed, notEnded), Skipped: e.count(skipped),
		Seconds: e.seconds, PeakRSSBytes: e.peakRSS,
	}
}

// outcomes returns the outcome of a test in each run.
func outcomes(runs []*execution, test string) []outcome {
	var all []outcome
	for _, e := range runs {
		o, ran := e.outcomes[test]
		if !ran {
			o = notRun
		}
		all = append(all, o)
	}
	return all
}

// outputOf returns the end of a test's output in the first run in which it failed.
func outputOf(runs []*execution, test string) []string {
	for _, e := range runs {
		if lines := e.output[test]; len(lines) > 0 {
			return lines
		}
	}
	return nil
}
