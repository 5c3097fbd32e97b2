// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"fmt"
	"testing"

	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
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
	selectors := func(n int) {
		var all []Scope
		for i := range n {
			all = append(all, Scope{LabelSelector: fmt.Sprintf("shard=%d", i)})
		}
		if err := new(Set).Replace(all...); err != nil {
			t.Fatal(err)
		}
	}
	for name, add := range map[string]func(int){"namespaces one by one": namespaces, "label selectors at once": selectors} {
		if few, many := memory.Allocated(func() { add(100) }), memory.Allocated(func() { add(1600) }); many > 32*few {
			t.Errorf("%s: 100 take %d bytes, 1600 take %d", name, few, many)
		}
	}
}
