// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"errors"
	"fmt"
	"hash/maphash"
)

// maxPagesWithoutObjects is the number of pages in a row that may have no object that the list has
// not had before.
const maxPagesWithoutObjects = 10

// hashSeed is the seed of the hashes of keys and tokens.
var hashSeed = maphash.MakeSeed() //nolint:gochecknoglobals // a constant of the process

// pageProgress recognizes a list that does not end: its continue tokens repeat, or its pages have
// no new objects. API servers return objects in the order of their keys, so that a greater key is a
// new object. Only a page without a greater key is compared with all earlier ones.
type pageProgress struct {
	tokens   map[uint64]struct{} // hashes of the continue tokens
	greatest string              // key
	hashes   []uint32            // of the keys of all pages; four bytes an object until the list ends
	page     int                 // where this page begins in hashes
	earlier  map[uint32]struct{} // hashes before earlierEnd
	end      int                 // of the hashes in earlier
	hasNew   bool                // this page has an object that is new
	without  int                 // number of pages in a row without a new object
}

// item records an object of the page. One without a name is no progress.
func (p *pageProgress) item(key string) {
	if key == "" {
		return
	}
	p.hashes = append(p.hashes, uint32(maphash.String(hashSeed, key))) //nolint:gosec // the low bits of a hash are one
	if key > p.greatest {
		p.greatest, p.hasNew = key, true
	}
}

// endPage reports whether the page had an object that is new. It returns an error if the list does
// not end. token is the page's continue token.
func (p *pageProgress) endPage(token string) (hasNew bool, err error) {
	hasNew = p.hasNew || p.comparePage()
	p.hasNew, p.page = false, len(p.hashes)
	if p.without++; hasNew {
		p.without = 0
	}
	if p.without == maxPagesWithoutObjects {
		return hasNew, fmt.Errorf("the list does not end: %d pages in a row have no new object", p.without)
	}
	hash := maphash.String(hashSeed, token)
	if _, again := p.tokens[hash]; again {
		return hasNew, errors.New("the list does not end: a continue token repeats")
	}
	if p.tokens == nil {
		p.tokens = make(map[uint64]struct{})
	}
	p.tokens[hash] = struct{}{}
	return hasNew, nil
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
