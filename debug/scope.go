// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/shard"
)

// maxScopes is the number of scopes that a page shows.
const maxScopes = 100

// scopeStatus is the JSON of a scope of an informer, or of all those in one condition that differ
// in their hashes alone.
type scopeStatus struct {
	Scope            string      `json:"scope"`
	Phase            cache.Phase `json:"phase"`
	Synced           bool        `json:"synced"`
	Objects          int         `json:"objects"`
	ResourceVersion  string      `json:"resourceVersion"`
	StalenessSeconds *float64    `json:"stalenessSeconds,omitempty"`
	Error            string      `json:"error,omitempty"`

	hashes []cache.HashRange // in order
}

// scopes returns the first maxScopes conditions of an informer's scopes and the number of all:
// first those with an error, then those of scopes that have not been listed.
func scopes(view cache.View) (shown []scopeStatus, number int) {
	type condition struct {
		scope  cache.Scope // without the ends of the hashes
		phase  cache.Phase
		synced bool
		err    string
	}
	all, at := view.ScopeStatus(), map[condition]int{}
	slices.SortStableFunc(all, func(a, b cache.ScopeStatus) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Scope.Hash.First, b.Scope.Hash.First))
	})
	for _, s := range all {
		c := condition{s.Scope, s.Phase, s.Synced, ""}
		c.scope.Hash = cache.HashRange{Field: s.Scope.Hash.Field}
		if s.Err != nil {
			c.err = shorten(s.Err.Error(), maxCause)
		}
		n, known := at[c]
		if !known {
			n = len(shown)
			at[c] = n
			shown = append(shown, scopeStatus{Phase: s.Phase, Synced: s.Synced, Error: c.err, ResourceVersion: s.Freshness.ResourceVersion})
		}
		shown[n].add(s)
	}
	slots := 0
	for _, member := range shard.MembersOf([]cache.View{view}) {
		slots = member.Status().Slots
	}
	for c, n := range at {
		shown[n].Scope = shorten(describe(c.scope, shown[n].hashes, uint64(slots)), maxCause)
	}
	return shown[:min(len(shown), maxScopes)], len(shown)
}

func rank(s cache.ScopeStatus) int {
	switch {
	case s.Err != nil:
		return 0
	case !s.Synced:
		return 1
	}
	return 2
}

// add adds a scope. Of all scopes, the status has the oldest resourceVersion and confirmation.
func (status *scopeStatus) add(s cache.ScopeStatus) {
	status.hashes = append(status.hashes, s.Scope.Hash)
	status.Objects += s.Store.Objects
	if cmp.Or(cmp.Compare(len(s.Freshness.ResourceVersion), len(status.ResourceVersion)), cmp.Compare(s.Freshness.ResourceVersion, status.ResourceVersion)) < 0 {
		status.ResourceVersion = s.Freshness.ResourceVersion
	}
	if seconds := s.Freshness.Staleness.Seconds(); !s.Freshness.FreshAt.IsZero() && (status.StalenessSeconds == nil || *status.StalenessSeconds < seconds) {
		status.StalenessSeconds = &seconds
	}
}

// describe describes scopes that differ only in their hashes. slots is the number of slots of their
// shard group: their ranges are shown by the numbers of slots then. If it is 0, they are shown by
// their ends. Adjacent ranges are one.
func describe(scope cache.Scope, hashes []cache.HashRange, slots uint64) string {
	field := string(scope.Hash.Field)
	if field == "" {
		return scope.String()
	}
	format, noun, of := "%016x", "hashes", ""
	if slots > 0 {
		format, noun, of = "%d", "slots", fmt.Sprintf(" of %d", slots)
	}
	var texts []string
	for n := 0; n < len(hashes); n++ {
		first, last := hashes[n].First, hashes[n].Last
		for ; n+1 < len(hashes) && hashes[n+1].First == last+1; n++ {
			last = hashes[n+1].Last
		}
		if slots > 0 {
			first, last = slotOf(first, slots), slotOf(last, slots)
		}
		text := fmt.Sprintf(format, first)
		if last > first {
			text += " to " + fmt.Sprintf(format, last)
		}
		texts = append(texts, text)
	}
	text := fmt.Sprintf("%s %s%s by %s", noun, strings.Join(texts, ", "), of, field[strings.LastIndex(field, ".")+1:])
	if scope.Hash = (cache.HashRange{}); scope != (cache.Scope{}) {
		text += ", " + scope.String()
	}
	return text
}

// slotOf returns the slot of a hash, of slots of equal size as package shard has them.
func slotOf(hash, slots uint64) uint64 {
	slot, _ := bits.Mul64(hash, slots)
	return slot
}
