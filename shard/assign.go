// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/kinformer/kinformer/internal/scope"
)

// algorithmVersion is part of the group record. Replicas whose versions differ would move slots
// back and forth. It changes with shareOf, preference and slotOf.
const algorithmVersion = "1"

// shareOf returns how many slots belong to the member with a rank in the order of identities: all
// members have equally many, and the first ones take what remains.
func shareOf(rank, members, slots int) int {
	share := slots / members
	if rank < slots%members {
		share++
	}
	return share
}

// preference returns a member's preference for a slot or a Lease, by its name. The member with the
// highest preference gets the slot, or acts on the Lease (rendezvous hashing). So few slots move
// when members join or leave.
func preference(identity, name string) uint64 {
	// FNV-1a alone leaves the high bits of similar names similar; this is murmur3's finalizer.
	hash := scope.HashOf(identity + "/" + name)
	hash = (hash ^ hash>>33) * 0xff51afd7ed558ccd
	hash = (hash ^ hash>>33) * 0xc4ceb9fe1a85ec53
	return hash ^ hash>>33
}

func slotPreference(identity string, slot int) uint64 {
	return preference(identity, strconv.Itoa(slot))
}

// candidate is a member in the assignment of free slots.
type candidate struct {
	identity string
	held     int // slots
	share    int
}

// assign returns the member that takes each free slot: of those that have less than their share,
// the one that prefers the slot most. Members with the same view get the same result, so that no
// two take one slot. It changes held.
func assign(free []int, candidates []candidate) (taker map[int]string) {
	taker = make(map[int]string, len(free))
	for _, slot := range free {
		var best *candidate
		var highest uint64
		for i := range candidates {
			c := &candidates[i]
			if c.held >= c.share {
				continue
			}
			if value := slotPreference(c.identity, slot); best == nil || value > highest {
				best, highest = c, value
			}
		}
		if best == nil {
			break
		}
		best.held++
		taker[slot] = best.identity
	}
	return taker
}

// leastPreferred returns n of the slots, those that a member prefers least.
func leastPreferred(identity string, slots []int, n int) []int {
	slots = slices.Clone(slots)
	slices.SortFunc(slots, func(a, b int) int {
		return cmp.Compare(slotPreference(identity, a), slotPreference(identity, b))
	})
	return slots[:n]
}
