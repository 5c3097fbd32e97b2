// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/simulate"
)

// All shards together execute each run once, and a run is the same in each number of shards.
func TestShardsHaveAllRuns(t *testing.T) {
	var singles []simulate.Disturbance
	for i := range 20 {
		singles = append(singles, simulate.Crash{Before: fmt.Sprintf("%dth create of pods default/a", i)})
	}
	want := simulate.Plans(t, "", 100, singles...)
	for _, n := range []int{1, 3, 200} {
		got := map[int]string{}
		for i := 1; i <= n; i++ {
			for k, p := range simulate.Plans(t, fmt.Sprintf("%d/%d", i, n), 100, singles...) {
				if _, twice := got[k]; twice || k%n != i-1 {
					t.Errorf("shard %d/%d executes run %d", i, n, k)
				}
				got[k] = p
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%d shards: got %v, want %v", n, got, want)
		}
	}
}

func TestShardExecutesItsRuns(t *testing.T) {
	setFlag(t, "simulate.runs", "50")
	setFlag(t, "simulate.shard", "2/4")
	runs := 0
	test := copying(copyConfigMap)
	test.Setup = func(*simulate.World) { runs++ }
	logs, cause := runSpec(t, test)
	if want := "shard 2/4: 14 of 50 runs (the undisturbed one is in each shard), "; cause != nil || runs != 14 || !strings.Contains(logs, want) {
		t.Errorf("got %d runs, panic %v and logs\n%s\nwant 1, 5, ... 49 and the undisturbed one, and %q", runs, cause, logs, want)
	}
}

// The shards whose runs have the disturbance find the bug, and report it alike.
func TestBugIsFoundByOneShard(t *testing.T) {
	setFlag(t, "simulate.runs", "100")
	found := 0
	for i := 1; i <= 3; i++ {
		setFlag(t, "simulate.shard", fmt.Sprintf("%d/3", i))
		test := copying(createUnlessCached)
		test.Disturb = []simulate.Disturbance{simulate.Lag{After: "1st create of secrets default/a-*"}}
		logs, cause := runSpec(t, test)
		if cause == nil {
			continue
		}
		found++
		if want := `-simulate.replay '0, simulate.Lag{After: "1st create of secrets default/a-*"}'`; !strings.Contains(logs, want) {
			t.Errorf("shard %d: got\n%s\nwant %q", i, logs, want)
		}
	}
	if found == 0 {
		t.Error("no shard has found the bug")
	}
}

// A disturbance that does not happen fails the shard that tries it, and no other.
func TestShardsCheckPlacesOfDisturbances(t *testing.T) {
	setFlag(t, "simulate.runs", "12") // of which the last has the disturbance
	for i := 1; i <= 3; i++ {
		setFlag(t, "simulate.shard", fmt.Sprintf("%d/3", i))
		test := copying(copyConfigMap)
		test.Disturb = []simulate.Disturbance{simulate.Crash{Before: "1st create of secrets default/a"}}
		if logs, cause := runSpec(t, test); cause != nil {
			t.Errorf("shard %d: got\n%s\nwant no failure", i, logs)
		}
		test.Disturb = []simulate.Disturbance{simulate.Crash{Before: "9th create of secrets default/a"}}
		_, cause := runSpec(t, test)
		if isTried := i == 11%3+1; (cause != nil) != isTried {
			t.Errorf("shard %d: got %v, want a failure if it tries the disturbance: %t", i, cause, isTried)
		}
	}
}

func TestShardOfEnvironmentIsChecked(t *testing.T) {
	for _, text := range []string{"0/2", "3/2", "1", "1/", "/2", "a/b", "-1/2", "1/2/3"} {
		setFlag(t, "simulate.shard", text)
		logs, cause := runSpec(t, copying(copyConfigMap))
		if want := fmt.Sprintf("parse SIMULATE_SHARD: %q is not i/n", text); cause == nil || !strings.Contains(logs, want) {
			t.Errorf("got %v and %q, want %q", cause, logs, want)
		}
	}
}
