// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
)

var (
	errWhy = fmt.Errorf("widgets: %w", ErrNotServed)
	errBad = errors.New("bad request")
)

// A context of a verdict ends once informers must do something else than the verdict says.
func TestContextEndsWithVerdict(t *testing.T) {
	all := []Outcome{Pending, Unknown, Served, NotServed, Gone}
	isAbsent := map[Outcome]bool{Pending: true, NotServed: true, Gone: true}
	for _, before := range all {
		for _, after := range all {
			r := New(errWhy)
			r.Set(before, errWhy)
			verdict := r.Verdict()
			if verdict.IsAbsent() != isAbsent[before] {
				t.Errorf("%v: IsAbsent %v", before, verdict.IsAbsent())
			}
			ctx, cancel := r.WithContext(t.Context(), verdict)
			again := fmt.Errorf("again: %w", errWhy)
			r.Set(after, again)
			want := before != after && (isAbsent[before] || isAbsent[after])
			if ended := ctx.Err() != nil; ended != want {
				t.Errorf("from %v to %v: the context has ended: %v, want %v", before, after, ended, want)
			}
			if got := r.Verdict(); got.Outcome != after || got.Err != again {
				t.Errorf("from %v to %v: verdict %v", before, after, got)
			}
			late, cancelLate := r.WithContext(t.Context(), verdict)
			if ended := late.Err() != nil; ended != want {
				t.Errorf("from %v to %v: a later context has ended: %v, want %v", before, after, ended, want)
			}
			cancel()
			cancelLate()
			if n := len(r.waiting); n > 0 {
				t.Errorf("from %v to %v: %d contexts are kept", before, after, n)
			}
		}
	}
}

func TestContextEndsIfResourceWasAbsentMeanwhile(t *testing.T) {
	r := New(errWhy)
	r.Set(Served, nil)
	verdict := r.Verdict()
	r.Set(Gone, errWhy)
	r.Set(Served, nil)
	ctx, cancel := r.WithContext(t.Context(), verdict)
	defer cancel()
	if ctx.Err() == nil {
		t.Error("the context of a verdict from before the deletion goes on")
	}
}

// End makes a verdict final, if there was no other one meanwhile.
func TestEndIsFinal(t *testing.T) {
	r := New(errWhy)
	r.Set(Gone, errWhy)
	gone := r.Verdict()
	r.Set(Served, nil)
	r.Set(Gone, errWhy)
	if r.End(gone) {
		t.Error("an earlier verdict has ended the resource")
	}
	if !r.End(r.Verdict()) {
		t.Error("the last verdict has not ended the resource")
	}
	r.Set(Served, nil)
	if got := r.Verdict(); got.Outcome != Unselected || !errors.Is(got.Err, ErrNotServed) {
		t.Errorf("verdict %v after the end, want Unselected", got)
	}
}

func TestContextEndsWithParent(t *testing.T) {
	parent, cancelParent := context.WithCancel(t.Context())
	r := New(errWhy)
	ctx, cancel := r.WithContext(parent, r.Verdict())
	defer cancel()
	cancelParent()
	if ctx.Err() == nil {
		t.Error("the context goes on after its parent")
	}
}

func TestConfirm(t *testing.T) {
	type answer struct {
		absent bool
		err    error
	}
	yes, no, bad := answer{absent: true}, answer{}, answer{err: errBad}
	for _, row := range []struct {
		name    string
		answers []answer // of the probes; each caller's answer is that of the last one before it
		callers int
		want    []answer
	}{
		{"one caller", []answer{yes}, 1, []answer{yes}},
		{"several callers, one probe", []answer{yes}, 4, []answer{yes, yes, yes, yes}},
		{"a probe that proves the opposite confirms nothing", []answer{no, no}, 2, []answer{no, no}},
		{"a replica that lags, then one that does not", []answer{no, yes}, 3, []answer{no, yes, yes}},
		{"a probe that fails confirms nothing", []answer{bad, {true, errBad}, yes}, 4, []answer{bad, {true, errBad}, yes, yes}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := New(errWhy)
				r.Set(Gone, errWhy)
				probes, running := 0, 0
				release, got := make(chan struct{}), make(chan answer, row.callers)
				for range row.callers {
					go func() {
						absent, err := r.Confirm(t.Context(), r.Verdict(), func(context.Context) (bool, error) {
							running++
							<-release
							if running--; running > 0 {
								t.Error("two probes at a time")
							}
							probes++
							return row.answers[probes-1].absent, row.answers[probes-1].err
						})
						got <- answer{absent, err}
					}()
				}
				synctest.Wait()
				for range row.answers {
					release <- struct{}{}
				}
				for i, want := range row.want {
					if got := <-got; got != want {
						t.Errorf("caller %d received %v, want %v", i, got, want)
					}
				}
				if probes != len(row.answers) {
					t.Errorf("%d probes, want %d", probes, len(row.answers))
				}
			})
		})
	}
}

func TestConfirmationIsOfOneVerdict(t *testing.T) {
	probes := 0
	probe := func(context.Context) (bool, error) { probes++; return true, nil }
	r := New(errWhy)
	for i, row := range []struct {
		set  Outcome
		want int // probes
	}{{NotServed, 1}, {NotServed, 1}, {Served, 1}, {NotServed, 2}, {Gone, 3}} {
		r.Set(row.set, errWhy)
		if verdict := r.Verdict(); verdict.IsAbsent() {
			if absent, err := r.Confirm(t.Context(), verdict, probe); !absent || err != nil {
				t.Errorf("step %d: %v, %v", i, absent, err)
			}
		}
		if probes != row.want {
			t.Errorf("step %d: %d probes, want %d", i, probes, row.want)
		}
	}
}

func TestDisproofIsOfOneVerdict(t *testing.T) {
	r := New(errWhy)
	for _, row := range []struct {
		set                Outcome
		disprove, expected bool
	}{{Pending, false, false}, {Gone, false, false}, {Gone, true, true}, {Gone, false, true}, {Served, false, false}, {Gone, false, false}} {
		r.Set(row.set, errWhy)
		if row.disprove {
			r.Disprove(r.Verdict())
		}
		if got := r.IsDisproved(r.Verdict()); got != row.expected {
			t.Errorf("%+v: IsDisproved %v", row, got)
		}
	}
}

// A caller that waits for another one's probe ends with its context, and the lock is released after
// a panic.
func TestConfirmEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(errWhy)
		r.Set(Gone, errWhy)
		release, done := make(chan struct{}), make(chan any)
		go func() {
			defer func() { done <- recover() }()
			_, _ = r.Confirm(t.Context(), r.Verdict(), func(context.Context) (bool, error) { <-release; panic(errBad) })
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Confirm(ctx, r.Verdict(), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		close(release)
		if got := <-done; got != errBad {
			t.Errorf("panic %v", got)
		}
		if absent, err := r.Confirm(t.Context(), r.Verdict(), func(context.Context) (bool, error) { return true, nil }); !absent || err != nil {
			t.Errorf("after a panic: %v, %v", absent, err)
		}
	})
}
