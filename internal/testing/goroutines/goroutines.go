// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package goroutines checks that tests leave no goroutines. It waits for goroutines that are ending
// for longer than goleak does, which gives them less than half a second.
package goroutines

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// timeout is how long goroutines may take to end. It is long for slow machines.
const timeout = 30 * time.Second

// VerifyTestMain runs the tests and ends the process, with an error if goroutines are left.
func VerifyTestMain(m *testing.M) { os.Exit(Verify(m.Run())) }

// Verify returns the exit code of the process after tests that ended with code: 1 if they passed
// and goroutines are left, which it prints.
func Verify(code int) int {
	if code != 0 {
		return code
	}
	if err := find(); err != nil {
		fmt.Fprintln(os.Stderr, "after the tests:", err)
		return 1
	}
	return 0
}

// VerifyNone fails the test if goroutines are left. Inside a synctest bubble it must not be called.
func VerifyNone(t *testing.T, options ...goleak.Option) {
	t.Helper()
	if err := find(options...); err != nil {
		t.Error(err)
	}
}

// find blocks until no goroutine is left, and returns an error that has their stacks if some are
// after 30 s.
func find(options ...goleak.Option) error {
	for deadline := time.Now().Add(timeout); ; {
		err := goleak.Find(options...)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// ExpectAtMost blocks until at most n goroutines run, and fails the test if more do after 30 s.
func ExpectAtMost(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(timeout); runtime.NumGoroutine() > n; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Errorf("%d goroutines, want at most %d", runtime.NumGoroutine(), n)
			return
		}
	}
}
