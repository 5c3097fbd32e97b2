// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"flag"
	"strconv"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/simulate"
)

// operatorBug is a bug of an open-source operator, re-created after its issue.
type operatorBug struct {
	issue string
	// test is that of the operator with the bug, or of the mended one.
	test func(mended bool) simulate.Test
	// oracle is the one that finds it, and cause is a part of the failure.
	oracle, cause string
}

// The bugs are from the list of Sieve (OSDI 2022),
// https://github.com/sieve-project/sieve/blob/main/docs/bugs.md. docs/simulate.md says what each
// one is.
var operatorBugs = []operatorBug{
	// Intermediate states: a crash between two writes.
	{"rabbitmq/cluster-operator#782", claimExpansion, "end state", `spec.resources.requests.storage is "10Gi"`},
	{"konpyutaika/nifikop#49", configReload, "end state", `Pod default/db: status.message is "loaded old", and "loaded new"`},
	{"konpyutaika/nifikop#79", gracefulScaleDown, "end state", "no status.action-db-"},
	{"K8SPSMDB-578", secretPair, "end state", "Secret default/db-ssl-internal is missing"},
	// Stale states: a decision on what is no longer so.
	{"instaclustr/cassandra-operator#407", staleDeletion, "end state", "PersistentVolumeClaim default/data-db-1: metadata.deletionTimestamp is"},
	{"pravega/zookeeper-operator#312", recreatedCluster, "end state", "PersistentVolumeClaim default/data-db-0: metadata.deletionTimestamp is"},
	{"elastic/cloud-on-k8s#5249", secretOfRecreatedCluster, "invariant", "Cluster db wants the Secret"},
	{"yugabyte/yugabyte-operator#35", secretOfChangedCluster, "invariant", "Cluster db wants the Secret"},
	// Unobserved states: a state in between that is never seen.
	{"instaclustr/cassandra-operator#398", missedDeletion, "end state", "PersistentVolumeClaim default/data-db-1 is there, and not in the undisturbed run"},
	{"instaclustr/cassandra-operator#410", decommission, "end state", "metadata.labels.left is"},
	{"rabbitmq/cluster-operator#758", scaleRefusal, "end state", `spec.replicas is "2", and "3"`},
	{"konpyutaika/nifikop#86", gracefulUpscale, "end state", `Cluster default/db: status.db-1 is "Upscale`},
}

const (
	bugRuns    = 500 // in which a bug must be found
	bugRepeats = 2   // of which each must fail again, or 20 if -simulate.runs is set
	mendedRuns = 6   // of a mended operator, unless -simulate.runs is set
)

func TestBugsAreFound(t *testing.T) {
	for _, b := range operatorBugs {
		t.Run(b.issue, func(t *testing.T) {
			test := b.test(false)
			found := simulate.Find(t, test, bugRuns)
			wantFound(t, found, b.oracle, b.cause)
			repeats := bugRepeats
			if runs := flag.Lookup("simulate.runs"); runs.Value.String() != runs.DefValue {
				repeats = 20
			}
			if n := simulate.Repeat(t, test, found, repeats); n != repeats {
				t.Errorf("%s failed again in %d of %d repeats", found.Plan, n, repeats)
			}
			t.Logf("found after %d runs: %s\n%s", found.Runs, found.Plan, strings.TrimSpace(found.Text))
		})
	}
}

func TestMendedOperatorsPass(t *testing.T) {
	limitRuns(t, mendedRuns)
	for _, b := range operatorBugs {
		t.Run(b.issue, func(t *testing.T) { simulate.Run(t, b.test(true)) })
	}
}

// limitRuns sets the number of runs of each simulation, unless -simulate.runs is set.
func limitRuns(t *testing.T, n int) {
	t.Helper()
	runs := flag.Lookup("simulate.runs")
	if runs.Value.String() != runs.DefValue {
		return
	}
	t.Cleanup(func() { _ = runs.Value.Set(runs.DefValue) })
	if err := runs.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
}

// silentBug is a bug of a kind that operators in the field have. No end state shows it, or only if
// its moment is met.
type silentBug struct {
	name          string
	test          func(mended bool) simulate.Test
	oracle, cause string
	runs          int // in which it must be found, whatever the seed
	// races states that a repeat may pass: two informers enqueue the key at once, and the worker
	// processes it once or twice.
	races bool
}

var silentBugs = []silentBug{
	{"stale copy", staleCopy, "refused", "times update of clusters/status default/db: 409 Conflict", 1, false},
	{"scale-down by a stale count", scaleDownCount, "invariant", "1 Pods are left", 50, false},
	{"sweep by a stale cache", sweepByCache, "end state", "Secret default/b is missing", 60, false},
	{"scale-up by a stale cache", staleScaleUp, "invariant", "4 Pods exist", 100, false},
	{"scale-down by a stale cache", staleScaleDown, "invariant", "1 Pods are left", 100, true},
	{"role without a subresource", withoutStatus, "refused", `clusters/status default/db: 403 Forbidden: clusters.example.com "db" is forbidden`, 1, false},
	{"role for a cache that is never late", withoutGet, "refused", `once get of secrets default/db: 403 Forbidden: secrets "db" is forbidden`, 60, false},
	{"webhook that locks a deleted object", lockedDeletion, "refused", `times update of clusters default/db: 403 Forbidden: admission webhook "cluster.example.com" denied the request`, 1, false},
	{"webhook that counts each write", countedRevisions, "rest", "times patch of clusters default/db", 1, false},
}

// silentRuns is the number of runs of a mended operator, unless -simulate.runs is set.
const silentRuns = 50

func TestSilentBugsAreFound(t *testing.T) {
	for _, b := range silentBugs {
		t.Run(b.name, func(t *testing.T) {
			for seed := range uint64(3) {
				found := simulate.FindWithSeed(t, b.test(false), b.runs, seed+1)
				wantFound(t, found, b.oracle, b.cause)
				if n := simulate.Repeat(t, b.test(false), found, bugRepeats); n != bugRepeats && !b.races {
					t.Errorf("%s failed again in %d of %d repeats", found.Plan, n, bugRepeats)
				}
				t.Logf("seed %d: found after %d runs: %s\n%s", seed+1, found.Runs, found.Plan, strings.TrimSpace(found.Text))
				if found.Runs == 1 {
					break // the undisturbed run is the same for each seed
				}
			}
		})
	}
}

func TestMendedSilentBugsPass(t *testing.T) {
	limitRuns(t, silentRuns)
	for _, b := range silentBugs {
		t.Run(b.name, func(t *testing.T) { simulate.Run(t, b.test(true)) })
	}
}
