// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"fmt"
	"strings"
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
		if isFree, err := p.endPage(fmt.Sprint(page)); err != nil || !isFree {
			t.Fatalf("page %d: free %v, error %v", page, isFree, err)
		}
	}
}

func TestPagesWithoutNewObjectsEndTheList(t *testing.T) {
	var p pageProgress
	for page := range 12 {
		p.item("b")
		p.item("a")
		isFree, err := p.endPage(fmt.Sprint(page))
		if isFree != (page == 0) || (err != nil) != (page == maxRepeatedPages) {
			t.Errorf("page %d: free %v, error %v", page, isFree, err)
		}
		if err != nil {
			return
		}
	}
}

// TestEmptyPagesAreProgress checks when pages without objects cost a token, and when they end the
// list. A page with a new object begins again; one that repeats an object does not.
func TestEmptyPagesAreProgress(t *testing.T) {
	var p pageProgress
	tokens := 0
	end := func() (isFree bool, err error) {
		tokens++
		return p.endPage(fmt.Sprint(tokens))
	}
	for round := range 3 {
		for page := 1; page <= 150; page++ {
			if isFree, err := end(); err != nil || isFree != (page <= maxFreePages) {
				t.Fatalf("round %d, empty page %d: free %v, error %v", round, page, isFree, err)
			}
		}
		p.item(fmt.Sprint(round))
		if isFree, err := end(); err != nil || !isFree {
			t.Fatalf("round %d: the page with a new object: free %v, error %v", round, isFree, err)
		}
	}
	for page := 1; page <= maxEmptyPages; page++ {
		if page == 50 {
			p.item("2")
			if isFree, err := end(); err != nil || isFree {
				t.Fatalf("the page with a known object: free %v, error %v", isFree, err)
			}
		}
		if _, err := end(); (err != nil) != (page == maxEmptyPages) || err != nil && !strings.Contains(err.Error(), "10000 pages in a row are empty") {
			t.Fatalf("empty page %d: error %v", page, err)
		}
	}
}

func TestRepeatedTokenOfEmptyPageIsNotFree(t *testing.T) {
	var p pageProgress
	if isFree, err := p.endPage("x"); err != nil || !isFree {
		t.Errorf("the first page: free %v, error %v", isFree, err)
	}
	if isFree, err := p.endPage("x"); err == nil || isFree {
		t.Errorf("the same token again: free %v, error %v", isFree, err)
	}
}

// TestPagesOfUnreadableItemsAreNotRepeated checks that pages of items without a readable key are
// like empty ones.
func TestPagesOfUnreadableItemsAreNotRepeated(t *testing.T) {
	var p pageProgress
	for page := 1; page <= maxFreePages; page++ {
		p.item("")
		if isFree, err := p.endPage(fmt.Sprint(page)); err != nil || !isFree {
			t.Fatalf("page %d: free %v, error %v", page, isFree, err)
		}
	}
}
