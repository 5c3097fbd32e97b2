// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package viewnames

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
)

// TestFree checks the names beside taken ones, an empty one and one that is not UTF-8.
func TestFree(t *testing.T) {
	taken := []string{"pods", "pods#2", "unnamed", "a\uFFFD"}
	for name, want := range map[string]string{"nodes": "nodes", "pods": "pods#3", "": "unnamed#2", "a\xff": "a\uFFFD#2"} {
		if got := Free(name, func(name string) bool { return slices.Contains(taken, name) }); got != want {
			t.Errorf("Free(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestOwnersKeepTheirNames checks that owners have different names, which do not change while
// others end, and that a name is given again once its owner has ended.
func TestOwnersKeepTheirNames(t *testing.T) {
	ended := make([]bool, 4)
	owners := make([]*Owner, len(ended))
	for i := range owners {
		owners[i] = NewOwner(func() bool { return ended[i] })
	}
	expect := func(i int, want string) {
		t.Helper()
		if got := owners[i].Name("kept"); got != want {
			t.Errorf("owner %d is %q, want %q", i, got, want)
		}
	}
	expect(0, "kept")
	expect(1, "kept#2")
	ended[0] = true
	expect(1, "kept#2")
	expect(2, "kept")
	expect(3, "kept#3")
	expect(0, "kept")
	runtime.KeepAlive(owners)
}

// TestLiteralNumber checks an owner whose own name is that of a second one.
func TestLiteralNumber(t *testing.T) {
	alive := func() bool { return false }
	a, b, c := NewOwner(alive), NewOwner(alive), NewOwner(alive)
	if got := fmt.Sprint(a.Name("x#2"), " ", b.Name("x"), " ", c.Name("x")); got != "x#2 x x#3" {
		t.Errorf("names %s", got)
	}
	runtime.KeepAlive([]*Owner{a, b, c})
}

// TestNamesOfEndedOwnersAreForgotten checks that the table does not grow with every owner that ever
// was, neither of those that have ended nor of those that are garbage.
func TestNamesOfEndedOwnersAreForgotten(t *testing.T) {
	var kept []*Owner
	for i := range 1000 {
		ended := NewOwner(func() bool { return true })
		kept = append(kept, ended)
		ended.Name(fmt.Sprint("ended ", i))
	}
	if n := tableSize(); n > 100 {
		t.Errorf("%d names of ended owners", n)
	}
	runtime.KeepAlive(kept)
	for i := range 1000 {
		NewOwner(func() bool { return false }).Name(fmt.Sprint("garbage ", i))
		if i%100 == 0 {
			runtime.GC()
		}
	}
	if n := tableSize(); n > 500 {
		t.Errorf("%d names of garbage", n)
	}
}

func tableSize() int {
	process.mu.Lock()
	defer process.mu.Unlock()
	return len(process.owners)
}
