// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"slices"
	"time"
)

// rollback is a restore of the server whose versions have passed those of the store before the
// informer could see it.
type rollback struct {
	epoch   int // that began with it
	since   time.Time
	journal bool // the server must repeat the last changes
}

// restore restores the server. Its versions pass those of the store if the informer can notice
// that. If it can notice the restore before only by a 410, and has not, there is no other one: the
// watch might then go on.
func (x *execution) restore(s step) {
	if x.isDoubtful() && !x.rollback.journal {
		return
	}
	how, journal := s.Overtake, x.hasJournal()
	if how != overtakeExpired && !journal {
		how = ""
	}
	x.server.restore(s.N, x.reached, how, s.Pattern)
	if how != "" {
		x.rollback = rollback{len(x.server.world.epochs) - 1, time.Now(), journal}
		x.meet("overtaken " + how)
	}
}

// hasJournal reports whether a resumed watch makes the server repeat the last changes: the informer
// decodes the answers itself, or lists and watches for package cache, and has received a change by
// a watch since the last list, and the server has not let it down twice. While a restore may be
// unstored, a list may have emptied the journal. Otherwise, a restore whose versions pass the
// informer's is not seen.
func (x *execution) hasJournal() bool {
	o := x.program.Options
	if o.Reference || o.Adapter && o.Wire == "" || x.isDoubtful() {
		return false
	}
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	if x.epoch != len(x.server.world.epochs)-1 || x.server.listEpoch != len(x.server.world.epochs) {
		return false
	}
	watched := x.server.world.present().since(x.server.listVersion)
	return slices.ContainsFunc(watched, func(s state) bool { return s.version <= x.reached && s.bad == "" })
}

// isDoubtful reports whether the store may still have states of a lost history. The server's mutex
// need not be held: only the program restores it.
func (x *execution) isDoubtful() bool { return x.rollback.epoch > x.epoch }

// mixes returns "" if a store that may have states of a lost history has only states that were on a
// server, and otherwise why it has not.
func (x *execution) mixes(v view) string {
	for _, pod := range v.pods {
		if err := intact(pod, x.program.Options); err != nil {
			return err.Error()
		}
		if s := stateOf(pod); !x.server.world.knows(s) {
			return "the store has " + s.String() + ", which was never on a server"
		}
	}
	return ""
}
