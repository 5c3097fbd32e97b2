// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"

	"github.com/kinformer/kinformer/fake"
)

// act is an enabled action of the cluster.
type act struct {
	Action
	round   int
	sortKey string
}

// key implements stimulus.
func (a *act) key() string { return a.sortKey }

// since implements stimulus.
func (a *act) since() int { return a.round }

// deliver implements stimulus. An action that the server refuses fails the run: the actor has seen the
// state that the action applies to.
func (a *act) deliver(s *scheduler) {
	obj := a.Object.DeepCopyObject().(fake.Object)
	if err := s.outsideWrite("cluster", a.Verb, obj); err != nil {
		s.record.fail(oracleSteps, "action of the cluster: %v", err)
		return
	}
	var err error
	switch a.Verb {
	case "create":
		err = s.create(obj)
	case "update":
		err = s.server.Update(obj)
	case "update status":
		err = s.server.UpdateStatus(obj)
	case "delete":
		err = s.delete(obj)
	default:
		err = fmt.Errorf("unknown verb %q", a.Verb)
	}
	what := a.Verb + " " + describe(obj)
	if err != nil {
		s.record.fail(oracleSteps, "action of the cluster: %s: %v", what, err)
		return
	}
	s.record.note("cluster", what)
	s.rest.changed("by the cluster: " + what)
}

// enabled returns the actions of the cluster in the current state.
func (s *scheduler) enabled() []*act {
	if len(s.test.Cluster) == 0 || s.actionsAt == s.server.ResourceVersion() {
		return s.actions
	}
	s.actionsAt = s.server.ResourceVersion()
	state, known := s.state(), s.actions
	s.actions = nil
	for i, actor := range s.test.Cluster {
		for _, action := range actor(state) {
			a := &act{Action: action, round: s.round}
			a.sortKey = fmt.Sprintf("0 %d %s %T %s/%s", i, action.Verb, action.Object, action.Object.GetNamespace(), action.Object.GetName())
			for _, old := range known {
				if old.sortKey == a.sortKey {
					a.round = old.round
				}
			}
			s.actions = append(s.actions, a)
		}
	}
	return s.actions
}
