// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"errors"
	"fmt"
	"hash/maphash"
)

const (
	// maxRepeatedPages is the number of pages with known objects alone that end a list, unless one
	// with a new object comes between them.
	maxRepeatedPages = 10
	// maxFreePages is the number of empty pages in a row that cost no token of the budget. A server
	// that filters may send "up to zero items" (API concepts, "Retrieving large results sets in
	// chunks").
	maxFreePages = 100
	// maxEmptyPages is the number of empty pages in a row that end a list.
	maxEmptyPages = 10_000
)

// hashSeed is the seed of the hashes of keys and tokens.
var hashSeed = maphash.MakeSeed() //nolint:gochecknoglobals // a constant of the process

// pageProgress recognizes a list that does not end: its continue tokens repeat, its pages have no
// new objects, or very many have none at all. API servers return objects in the order of their
// keys, so that a greater key is a new object. Only a page without a greater key is compared with
// all earlier ones.
type pageProgress struct {
	tokens   map[uint64]struct{} // hashes of the continue tokens
	greatest string              // key
	hashes   []uint32            // of the keys of all pages; four bytes an object until the list ends
	page     int                 // where this page begins in hashes
	earlier  map[uint32]struct{} // hashes before end
	end      int                 // of the hashes in earlier
	hasItems bool                // this page has an object with a key
	hasNew   bool                // this page has an object that is new
	repeated int                 // number of pages with objects since the last new object
	empty    int                 // number of pages without objects since the last new object
}

// item records an object of the page. A page of those without a readable key is like an empty one.
func (p *pageProgress) item(key string) {
	if key == "" {
		return
	}
	p.hasItems = true
	p.hashes = append(p.hashes, uint32(maphash.String(hashSeed, key))) //nolint:gosec // the low bits of a hash are one
	if key > p.greatest {
		p.greatest, p.hasNew = key, true
	}
}

// endPage reports whether the page is progress, so that the next one costs no token of the budget.
// It returns an error if the list does not end. token is the page's continue token.
func (p *pageProgress) endPage(token string) (isFree bool, err error) {
	switch {
	case !p.hasItems:
		p.empty++
		isFree = p.empty <= maxFreePages
	case p.hasNew || p.comparePage():
		p.empty, p.repeated, isFree = 0, 0, true
	default:
		p.repeated++
	}
	p.hasItems, p.hasNew, p.page = false, false, len(p.hashes)
	hash := maphash.String(hashSeed, token)
	_, again := p.tokens[hash]
	switch {
	case again:
		return false, errors.New("the list does not end: a continue token repeats")
	case p.repeated == maxRepeatedPages:
		return isFree, fmt.Errorf("the list does not end: %d pages in a row have no new object", p.repeated)
	case p.empty == maxEmptyPages:
		return isFree, fmt.Errorf("the list does not end: %d pages in a row are empty", p.empty)
	case p.tokens == nil:
		p.tokens = make(map[uint64]struct{})
	}
	p.tokens[hash] = struct{}{}
	return isFree, nil
}

// comparePage reports whether the page has an object that no earlier page had. Two keys with the
// same hash do no harm: not all objects of ten pages can have such a key.
func (p *pageProgress) comparePage() bool {
	if p.earlier == nil {
		p.earlier = make(map[uint32]struct{})
	}
	for ; p.end < p.page; p.end++ {
		p.earlier[p.hashes[p.end]] = struct{}{}
	}
	for _, hash := range p.hashes[p.page:] {
		if _, known := p.earlier[hash]; !known {
			return true
		}
	}
	return false
}
