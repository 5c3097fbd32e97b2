// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package errlog_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/kinformer/kinformer/internal/errlog"
)

// TestErrorsThatAlternateAreLoggedOnce remembers two errors that follow each other in turn.
func TestErrorsThatAlternateAreLoggedOnce(t *testing.T) {
	var repeats errlog.Repeats
	now, logged := time.Now(), 0
	for i := range 60 { // ten seconds apart
		if repeats.IsNew([]string{"refused", "no route"}[i%2], now.Add(time.Duration(i)*10*time.Second)) {
			logged++
		}
	}
	if logged != 4 {
		t.Errorf("two errors were logged %d times in ten minutes, want twice each", logged)
	}
	repeats.Forget()
	if !repeats.IsNew("refused", now.Add(10*time.Minute)) {
		t.Error("a forgotten error is not new")
	}
}

// TestManyErrorsNeedLittleMemory remembers ever other texts.
func TestManyErrorsNeedLittleMemory(t *testing.T) {
	var repeats errlog.Repeats
	now := time.Now()
	for i := range 100000 {
		if !repeats.IsNew(strconv.Itoa(i), now) {
			t.Fatal("a new error is not new")
		}
	}
	if repeats.Has("1", now) || !repeats.Has("99999", now) {
		t.Error("the first of many errors is remembered, or the last is not")
	}
}

// TestErrorsThatDifferInDigitsAreLoggedOnce logs failed attempts from two ports.
func TestErrorsThatDifferInDigitsAreLoggedOnce(t *testing.T) {
	var requests errlog.Requests
	now := time.Now()
	if !requests.IsNew("read tcp 10.0.0.1:4321: refused", now) || requests.IsNew("read tcp 10.0.0.1:4322: refused", now) {
		t.Error("errors that differ in digits are not logged once")
	}
}

// TestFewRecoveriesAreLogged lets requests fail and succeed by turns.
func TestFewRecoveriesAreLogged(t *testing.T) {
	var requests errlog.Requests
	now, recovered := time.Now(), 0
	if requests.Recovered(now) {
		t.Error("a recovery without a failure is logged")
	}
	for i := range 60 { // ten seconds apart
		at := now.Add(time.Duration(i) * 10 * time.Second)
		if requests.IsNew("refused", at) {
			requests.Failed()
		}
		if requests.Recovered(at) {
			recovered++
		}
	}
	if recovered != 6 {
		t.Errorf("logged %d recoveries in ten minutes, want three in five", recovered)
	}
}
