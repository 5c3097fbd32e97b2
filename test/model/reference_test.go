// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"regexp"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
)

var referencePrograms = flag.Uint64("model.reference", 400, "the number of programs that client-go's informer runs")

// reference is client-go's informer.
type reference struct {
	sharedIndexInformer
}

func newReference(s *server, o options) reference {
	informer := clientcache.NewSharedIndexInformer(s.listerWatcher(o), &corev1.Pod{}, o.Resync, s.nodeIndexers())
	s.setFunctions(informer)
	if o.Idempotent && !o.NoTransform {
		_ = informer.SetTransform(func(obj any) (any, error) {
			pod := obj.(*corev1.Pod)
			delete(pod.Annotations, transformed)
			return pod, transform(pod)
		})
	}
	return reference{sharedIndexInformer{informer}}
}

// Run runs the informer. client-go's returns no error.
func (r reference) Run(ctx context.Context) error {
	r.RunWithContext(ctx)
	return nil
}

// Status returns the status of an informer that works: client-go's has none.
func (reference) Status() cache.Status {
	return cache.Status{Phase: cache.PhaseWatching}
}

func (reference) waitFor(context.Context, *corev1.Pod) error { return errors.ErrUnsupported }

func (reference) waitForDelete(context.Context, *corev1.Pod) error { return errors.ErrUnsupported }

// TestClientGoDiffersAsListed runs programs for the adapter with client-go's informer. A difference
// must explain each violation. The program then runs again without the cause, until client-go's
// informer keeps all invariants.
func TestClientGoDiffersAsListed(t *testing.T) {
	found, same := make(map[string]int), 0
	for seed, n := *firstSeed, uint64(0); n < *referencePrograms; seed++ {
		p := forReference(generate(seed))
		if !p.Options.Adapter {
			continue
		}
		n++
		all := explain(t, p)
		if len(all) == 0 {
			same++
		}
		for _, d := range all {
			found[d.text]++
		}
		if t.Failed() {
			t.Fatalf("-model.seed=%d -model.reference=1", seed)
		}
	}
	t.Logf("%d programs, %d without a difference", *referencePrograms, same)
	for _, d := range differences {
		t.Logf("%5d: %s", found[d.text], d.text)
	}
}

// explain runs a program again and again, each time without the cause of the last violation, and
// returns the differences that explain the violations.
func explain(t *testing.T, p program) (found []difference) {
	t.Helper()
	for {
		x := executeInTime(t, p, false)
		if x.violation == nil {
			return found
		}
		i := slices.IndexFunc(differences, func(d difference) bool { return d.explains(x) })
		if i < 0 {
			reportUnexplained(t, x)
			return found
		}
		found = append(found, differences[i])
		p = differences[i].without(p)
	}
}

// reportUnexplained reports a violation that no difference explains, and the steps that it needs.
func reportUnexplained(t *testing.T, x *execution) {
	t.Helper()
	steps := shrink(x.program.Steps, func(steps []step) bool {
		y := executeInTime(t, program{x.program.Options, steps}, false)
		return y.violation != nil && y.violation.invariant == x.violation.invariant &&
			!slices.ContainsFunc(differences, func(d difference) bool { return d.explains(y) })
	})
	report(t, x.violation, program{x.program.Options, steps})
}

// example is a program on which client-go's informer has one difference.
type example struct {
	Difference string
	Program    program
}

// TestEachDifferenceHasAnExample runs the programs of testdata/differences.json. client-go's
// informer has the difference, and without its cause, none. The delays of the informer are random.
func TestEachDifferenceHasAnExample(t *testing.T) {
	var examples []example
	readJSON(t, "testdata/differences.json", &examples)
	for i, e := range examples {
		t.Run(e.Difference, func(t *testing.T) {
			var found []difference
			for range repetitions {
				if found = explain(t, e.Program); len(found) == 1 {
					break
				}
			}
			if len(found) != 1 || found[0].text != e.Difference {
				t.Errorf("differences %v", found)
			}
			if len(examples) != len(differences) || differences[i].text != e.Difference {
				t.Error("the list of differences has not this one, or is in another order")
			}
		})
	}
}

// TestDifferencesNamePromises checks that docs/contract.md has the sentence that each difference is
// from.
func TestDifferencesNamePromises(t *testing.T) {
	contract, err := os.ReadFile("../../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		if !regexp.MustCompile(`\n\| \*\*\d+\. ` + regexp.QuoteMeta(d.promise)).Match(contract) {
			t.Errorf("docs/contract.md has no sentence %q", d.promise)
		}
	}
}
