// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"fmt"
	"testing"
)

// TestWorldKeepsHistory writes, deletes, recreates and restores, and reads each version.
func TestWorldKeepsHistory(t *testing.T) {
	w := newWorld(98)
	w.put("a/x", "", 1)
	w.put("a/x", "", 1) // 100
	w.put("a/y", "", 5)
	w.remove("a/x", 1)
	w.put("a/x", "", 1) // 107
	if w.remove("b/x", 1) {
		t.Error("an object that does not exist was deleted")
	}
	w.restore(2, 107)
	w.put("b/x", "", 1) // 106 again
	first, second := w.epochs[0], w.epochs[1]
	for _, c := range []struct {
		epoch   *epoch
		version uint64
		want    string
	}{
		{first, 98, "map[]"},
		{first, 99, "map[a/x:a/x(uid-1)@99=1]"},
		{first, 104, "map[a/x:a/x(uid-1)@100=2]"},
		{first, 105, "map[a/x:a/x(uid-1)@100=2 a/y:a/y(uid-3)@105=3]"},
		{first, 106, "map[a/y:a/y(uid-3)@105=3]"},
		{first, 107, "map[a/x:a/x(uid-4)@107=4 a/y:a/y(uid-3)@105=3]"},
		{second, 106, "map[a/x:a/x(uid-1)@100=2 a/y:a/y(uid-3)@105=3 b/x:b/x(uid-5)@106=5]"},
	} {
		if got := fmt.Sprint(c.epoch.at(c.version)); got != c.want {
			t.Errorf("at %d: %s, want %s", c.version, got, c.want)
		}
	}
	if got := fmt.Sprint(first.since(105)); got != "[deleted a/x(uid-1)@106=2 a/x(uid-4)@107=4]" {
		t.Errorf("since 105: %s", got)
	}
}

// TestWorldStaysBelowCeiling restores a world below the version that the informer has reached.
func TestWorldStaysBelowCeiling(t *testing.T) {
	w := newWorld(1)
	w.put("a/x", "", 1)
	w.skip(10)
	w.restore(1, 4)
	if !w.put("a/x", "", 1) || !w.skip(1) || w.skip(1) || w.put("a/x", "", 1) || w.present().head != 3 {
		t.Errorf("at version %d, want 3", w.present().head)
	}
	w.restore(0, 2)
	if !w.skip(1) {
		t.Error("the ceiling remains although the informer shows the restored state")
	}
}

func TestWorldKnowsItsStates(t *testing.T) {
	w := newWorld(1)
	w.put("a/x", badSkip, 1)
	w.remove("a/x", 1)
	w.restore(2, 0)
	s := w.epochs[0].log[0]
	for _, known := range []state{s, w.epochs[0].log[1], stateOf(podOf(s))} {
		if !w.knows(known) {
			t.Errorf("%v is not known", known)
		}
	}
	for _, other := range []state{{}, {key: s.key, uid: s.uid, version: s.version + 2, value: s.value}, {key: s.key, uid: "uid", version: s.version, value: s.value}} {
		if w.knows(other) {
			t.Errorf("%v is known", other)
		}
	}
}
