// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kinformer/kinformer/shard"
)

// shardMember is the JSON of a member of a shard group over whose scopes informers are.
type shardMember struct {
	Group                string            `json:"group"`
	Member               string            `json:"member"`
	Running              bool              `json:"running"`
	Incarnation          string            `json:"incarnation,omitempty"`
	Renewed              time.Time         `json:"renewed,omitzero"`
	Members              int               `json:"members"`
	OwnedSlots           int               `json:"ownedSlots"`
	FreeSlots            int               `json:"freeSlots"`
	Slots                int               `json:"slots"`
	Taken                map[string]uint64 `json:"taken"`
	Lost                 map[string]uint64 `json:"lost"`
	RenewalAgeSeconds    float64           `json:"renewalAgeSeconds"`
	RenewDeadlineSeconds float64           `json:"renewDeadlineSeconds"`
	StaleSince           time.Time         `json:"staleSince,omitzero"`
	Error                string            `json:"error,omitempty"`
	Peers                []shardPeer       `json:"peers,omitempty"`       // the first maxPeers
	Objects              *int              `json:"objects,omitempty"`     // of all slots that have been listed
	SlotObjects          []slotObjects     `json:"slotObjects,omitempty"` // the first maxSlots
}

// shardPeer is the JSON of a member as one of the program sees it.
type shardPeer struct {
	Member  string `json:"member"`
	Program string `json:"program,omitempty"`
	Slots   int    `json:"slots"`
	Objects *int   `json:"objects,omitempty"` // absent if they are not known
}

// slotObjects is the JSON of the objects of a slot.
type slotObjects struct {
	Slot    int `json:"slot"`
	Objects int `json:"objects"`
}

// The numbers of members and slots that are shown, those with most objects first.
const (
	maxPeers = 100
	maxSlots = 100
)

// members reads the status of each member, by group and name.
func (h *handler) members() (members []shardMember) {
	for _, member := range shard.MembersOf(h.views()) {
		s := member.Status()
		m := shardMember{
			Group: s.Group, Member: s.Identity, Running: s.Running, Incarnation: s.Incarnation, Renewed: s.Renewed.UTC(),
			Members: s.Members, OwnedSlots: s.Owned, FreeSlots: s.Free, Slots: s.Slots, Taken: s.Taken, Lost: s.Lost,
			RenewalAgeSeconds: s.RenewalAge.Seconds(), RenewDeadlineSeconds: s.RenewDeadline.Seconds(), StaleSince: s.StaleSince.UTC(),
		}
		if s.Err != nil {
			m.Error = shorten(s.Err.Error(), maxCause)
		}
		m.setObjects(s)
		members = append(members, m)
	}
	slices.SortFunc(members, func(a, b shardMember) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Member, b.Member))
	})
	return members
}

// setObjects sets the peers, and the objects of the member's slots.
func (m *shardMember) setObjects(s shard.Status) {
	peers := slices.Clone(s.Peers)
	slices.SortStableFunc(peers, func(a, b shard.Peer) int { return cmp.Compare(b.Objects, a.Objects) })
	for _, p := range peers[:min(len(peers), maxPeers)] {
		peer := shardPeer{Member: p.Identity, Program: p.Program, Slots: p.Slots}
		if p.Objects >= 0 {
			peer.Objects = &p.Objects
		}
		m.Peers = append(m.Peers, peer)
	}
	if s.SlotObjects == nil {
		return
	}
	m.Objects = new(int)
	for slot, n := range s.SlotObjects {
		*m.Objects += n
		m.SlotObjects = append(m.SlotObjects, slotObjects{slot, n})
	}
	slices.SortFunc(m.SlotObjects, func(a, b slotObjects) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(a.Slot, b.Slot))
	})
	m.SlotObjects = m.SlotObjects[:min(len(m.SlotObjects), maxSlots)]
}

// Level returns how well the member does.
func (m shardMember) Level() level {
	switch {
	case !m.Running:
		return levelOff
	case m.RenewalAgeSeconds > m.RenewDeadlineSeconds:
		return levelError
	case m.Incarnation == "" && m.Error == "":
		return levelBusy
	case m.FreeSlots > 0 || m.Error != "" || !m.StaleSince.IsZero():
		return levelWarning
	}
	return levelOK
}

// State says what the level is about.
func (m shardMember) State() string {
	switch {
	case !m.Running:
		return "not running"
	case m.RenewalAgeSeconds > m.RenewDeadlineSeconds:
		return "cannot renew its Lease, and owns no slots"
	case m.Incarnation == "":
		return "joining the group"
	case m.FreeSlots > 0:
		return "slots have no owner"
	case !m.StaleSince.IsZero():
		return "the watch of Leases is stuck"
	}
	return "member"
}

// reasons lists counts that are not zero, such as "Expired 3, New 11".
func reasons(counts map[string]uint64) string {
	var texts []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[reason]; n > 0 {
			texts = append(texts, fmt.Sprintf("%s %d", reason, n))
		}
	}
	return cmp.Or(strings.Join(texts, ", "), "none")
}
