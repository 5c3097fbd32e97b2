// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package errlog_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kinformer/kinformer/internal/errlog"
)

func always() bool { return true }

// fail adds an error of each informer, one second apart, and returns the numbers that are to be
// logged.
func fail(causes *errlog.Causes, informers []int, text string, now time.Time) (logged []int) {
	for i := range informers {
		if n := causes.Add(&informers[i], text, now.Add(time.Duration(i)*time.Second), always); n > 0 {
			logged = append(logged, n)
		}
	}
	return logged
}

// TestCauseOfManyInformersIsLoggedOnceAMinute lets 20 informers fail every 20 seconds, lets them
// recover, and lets one fail much later.
func TestCauseOfManyInformersIsLoggedOnceAMinute(t *testing.T) {
	var causes errlog.Causes
	informers, now := make([]int, 20), time.Unix(0, 0)
	var logged []int
	for range 9 { // three minutes
		logged = append(logged, fail(&causes, informers, "refused", now)...)
		now = now.Add(20 * time.Second)
	}
	if want := []int{1, 20, 20}; !slices.Equal(logged, want) {
		t.Errorf("logged lines about %v informers in three minutes, want %v", logged, want)
	}
	now = now.Add(5 * time.Minute)
	if got := fail(&causes, informers[:1], "refused", now); !slices.Equal(got, []int{1}) {
		t.Errorf("logged lines about %v informers after a recovery, want one about 1", got)
	}
}

// TestOneInformerIsNotHeldBack logs each error of an informer that is the only one with the cause.
func TestOneInformerIsNotHeldBack(t *testing.T) {
	var causes errlog.Causes
	informers, now := make([]int, 2), time.Unix(0, 0)
	for range 3 {
		if got := fail(&causes, informers[:1], "refused", now); len(got) != 1 {
			t.Fatalf("logged %v, want each error of the only informer", got)
		}
	}
	never := func() bool { return false }
	if n := causes.Add(&informers[1], "no route", now, never); n != 0 {
		t.Errorf("logged %d informers, though the informer has logged the error", n)
	}
	if got := fail(&causes, informers[:1], "no route", now); !slices.Equal(got, []int{2}) {
		t.Errorf("logged %v, want the number of both informers: no line precedes it", got)
	}
}

// TestStoppedInformersAreForgotten stops the informers that have a cause: in tests, the next one
// may have an earlier clock.
func TestStoppedInformersAreForgotten(t *testing.T) {
	var causes errlog.Causes
	informers, now := make([]int, 3), time.Unix(0, 0)
	fail(&causes, informers[:2], "refused", now)
	causes.Remove(&informers[0])
	causes.Remove(&informers[1])
	if got := fail(&causes, informers[2:], "refused", now.Add(time.Second)); !slices.Equal(got, []int{1}) {
		t.Errorf("logged %v, want one line, about an informer", got)
	}
}

// TestCausesOfOtherClocks lets informers fail whose clocks are years apart.
func TestCausesOfOtherClocks(t *testing.T) {
	var causes errlog.Causes
	informers, now := make([]int, 2), time.Unix(0, 0)
	for range 2 {
		for i, at := range []time.Time{now, now.AddDate(26, 0, 0)} {
			if n := causes.Add(&informers[i], "refused", at, always); n != 1 {
				t.Errorf("logged %d informers, want 1", n)
			}
		}
	}
}

// TestManyCausesNeedLittleMemory adds many different texts.
func TestManyCausesNeedLittleMemory(t *testing.T) {
	var causes errlog.Causes
	informers, now := make([]int, 2), time.Unix(0, 0)
	fail(&causes, informers, "refused", now)
	for i := range 1000 {
		fail(&causes, informers[:1], fmt.Sprintf("forbidden: %c", rune('一'+i)), now)
	}
	if got := fail(&causes, informers[1:], "refused", now); len(got) != 1 {
		t.Error("the first of many causes is remembered")
	}
}

// TestCauseHasNothingOfTheRequest compares errors of requests for two resources.
func TestCauseHasNothingOfTheRequest(t *testing.T) {
	for text, want := range map[string]string{
		`list: EOF (Get "https://10.0.0.1:6443/api/v1/pods?continue=...&limit=1")`:                `list: EOF (Get "https://10.0.0.1:6443")`,
		`list: EOF (Get "https://10.0.0.1:6443/apis/apps/v1/deployments")`:                        `list: EOF (Get "https://10.0.0.1:6443")`,
		`watch: an error on the server ("busy") has prevented the request (get deployments.apps)`: `watch: an error on the server ("busy") has prevented the request`,
		`list: pods is forbidden: User "u" cannot list resource "pods" in API group ""`:           `list: pods is forbidden: User "u" cannot list resource "pods" in API group ""`,
	} {
		if got := errlog.Cause(text); got != want {
			t.Errorf("the cause of %s is %s, want %s", text, got, want)
		}
	}
}

// TestServersHaveTheirOwnLines lets informers of two servers fail, whose addresses differ in a
// digit, with errors that differ in ports.
func TestServersHaveTheirOwnLines(t *testing.T) {
	var causes errlog.Causes
	informers, now := make([]int, 4), time.Unix(0, 0)
	var logged []int
	for i := range informers {
		text := fmt.Sprintf(`list: read tcp 10.0.0.9:4%d: reset (Get "https://10.0.0.%d:6443")`, i, i%2)
		logged = append(logged, causes.Add(&informers[i], text, now, always))
	}
	if want := []int{1, 1, 0, 0}; !slices.Equal(logged, want) {
		t.Errorf("logged %v, want %v", logged, want)
	}
}
