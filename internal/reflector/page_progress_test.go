// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"fmt"
	"testing"
)

func TestRepeatedContinueTokenEndsTheList(t *testing.T) {
	var p pageProgress
	for i, token := range []string{"x", "y", "x"} {
		p.item(fmt.Sprint(i))
		if _, err := p.endPage(token); (err != nil) != (i == 2) {
			t.Errorf("page %d with token %q: error %v", i, token, err)
		}
	}
}

// TestPagesInAnyOrderAreProgress checks that pages whose objects are in no order, as those of an
// aggregated API server, are not mistaken for repeated ones.
func TestPagesInAnyOrderAreProgress(t *testing.T) {
	var p pageProgress
	for page := 1000; page > 0; page-- {
		for i := range 3 {
			p.item(fmt.Sprintf("%04d-%d", page, i))
		}
		if hasNew, err := p.endPage(fmt.Sprint(page)); err != nil || !hasNew {
			t.Fatalf("page %d: new objects %v, error %v", page, hasNew, err)
		}
	}
}

func TestPagesWithoutNewObjectsEndTheList(t *testing.T) {
	var p pageProgress
	for page := range 12 {
		p.item("b")
		p.item("a")
		hasNew, err := p.endPage(fmt.Sprint(page))
		if hasNew != (page == 0) || (err != nil) != (page == maxPagesWithoutObjects) {
			t.Errorf("page %d: new objects %v, error %v", page, hasNew, err)
		}
		if err != nil {
			return
		}
	}
}
