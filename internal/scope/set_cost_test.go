// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// The memory that a change allocates does not grow with the scopes of the set, nor that of a whole
// set with their pairs.
func TestCostOfScopesIsLinear(t *testing.T) {
	namespaces := func(n int) {
		var s Set
		for i := range n {
			if err := s.Add(Scope{Namespace: fmt.Sprintf("ns-%d", i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	names := func(n int) {
		var all []Scope
		for i := range n {
			all = append(all, Scope{Namespace: "a", FieldSelector: fmt.Sprintf("metadata.name=%d", i)})
		}
		if err := new(Set).Replace(all...); err != nil {
			t.Fatal(err)
		}
	}
	for name, add := range map[string]func(int){"namespaces one by one": namespaces, "names at once": names} {
		if few, many := memory.Allocated(func() { add(100) }), memory.Allocated(func() { add(1600) }); many > 32*few {
			t.Errorf("%s: 100 take %d bytes, 1600 take %d", name, few, many)
		}
	}
}

// A subscription lives as long as its informer, and takes no memory for changes that were taken.
func TestTakenChangesAreFreed(t *testing.T) {
	changes := make([]Change, 10_000)
	for i := range changes {
		changes[i] = Change{Scope{Namespace: fmt.Sprintf("ns-%d", i)}, Held}
	}
	subscription := new(Set).Subscribe()
	before := process.LiveHeap()
	subscription.add(changes)
	subscription.Take()
	if kept := process.LiveHeap() - before; kept > 10*float64(len(changes)) {
		t.Errorf("%.0f bytes are kept of %d changes", kept, len(changes))
	}
	runtime.KeepAlive(subscription)
	runtime.KeepAlive(changes)
}
