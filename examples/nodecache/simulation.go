// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/terminal"
)

// nodeAPI is the part of *fake.APIServer that the simulation uses. On success, each method sets obj
// to the object that the server now holds.
type nodeAPI interface {
	Create(obj fake.Object) error
	Update(obj fake.Object) error
	UpdateStatus(obj fake.Object) error
	Delete(obj fake.Object) error
}

// simulation changes the nodes of a cluster at random. The sequence of changes depends only on the
// seed. The simulation must be the only writer of nodes. It is not safe for concurrent use.
type simulation struct {
	api     nodeAPI
	random  *rand.Rand
	size    int                  // approximate number of nodes
	nodes   []*corev1.Node       // as the server holds them
	created int                  // number of nodes created; makes names and addresses unique
	counts  terminal.EventCounts // successful writes
}

// stepInterval is the time between two steps.
const stepInterval = 400 * time.Millisecond

func newSimulation(api nodeAPI, size int, seed uint64) *simulation {
	return &simulation{api: api, size: size, random: rand.New(rand.NewPCG(seed, 0))}
}

// populate creates the initial nodes, all of them ready.
func (s *simulation) populate() error {
	for range s.size {
		if err := s.create(corev1.ConditionTrue); err != nil {
			return err
		}
	}
	return nil
}

// run changes nodes until ctx ends. A larger cluster has more changes per step.
func (s *simulation) run(ctx context.Context) error {
	ticker := time.NewTicker(stepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		for range 1 + s.size/200 {
			if err := s.step(); err != nil {
				return fmt.Errorf("simulate nodes: %w", err)
			}
		}
	}
}

// change is a random change of the cluster.
type change struct {
	weight int // relative frequency; the weights of all changes sum to totalWeight
	// apply makes the change. It returns false if no node is eligible for it.
	apply func(*simulation) (bool, error)
}

const totalWeight = 20

func changes() []change {
	return []change{
		{3, (*simulation).join},
		{2, (*simulation).leave},
		{5, (*simulation).recover},
		{3, (*simulation).fail},
		{3, (*simulation).cordon},
		{1, (*simulation).upgrade},
		{3, (*simulation).relabel},
	}
}

// step makes one random change.
func (s *simulation) step() error {
	all := changes()
	for {
		n := s.random.IntN(totalWeight)
		i := slices.IndexFunc(all, func(c change) bool { n -= c.weight; return n < 0 })
		if applied, err := all[i].apply(s); applied || err != nil {
			return err
		}
	}
}

// join adds a node that is not ready yet, unless the cluster is a quarter above its size.
func (s *simulation) join() (bool, error) {
	if len(s.nodes) > s.size+s.size/4 {
		return false, nil
	}
	return true, s.create(corev1.ConditionFalse)
}

func (s *simulation) create(ready corev1.ConditionStatus) error {
	node := newSimulatedNode(s.random, s.created)
	s.created++
	setReady(node, ready)
	if err := s.api.Create(node); err != nil {
		return err
	}
	s.counts.Added++
	s.nodes = append(s.nodes, node)
	return nil
}

// leave removes a worker node, unless the cluster is a quarter below its size.
func (s *simulation) leave() (bool, error) {
	if len(s.nodes) < s.size-s.size/4 {
		return false, nil
	}
	node := s.pick(func(n *corev1.Node) bool { return !isControlPlane(n) })
	if node == nil {
		return false, nil
	}
	if err := s.api.Delete(node); err != nil {
		return false, err
	}
	s.counts.Deleted++
	s.nodes = slices.DeleteFunc(s.nodes, func(n *corev1.Node) bool { return n == node })
	return true, nil
}

// recover makes a node ready.
func (s *simulation) recover() (bool, error) {
	node := s.pick(func(n *corev1.Node) bool { return readiness(n) != corev1.ConditionTrue })
	return s.changeReady(node, corev1.ConditionTrue)
}

// fail disconnects a ready node from the network.
func (s *simulation) fail() (bool, error) {
	node := s.pick(func(n *corev1.Node) bool { return readiness(n) == corev1.ConditionTrue })
	return s.changeReady(node, corev1.ConditionUnknown)
}

func (s *simulation) changeReady(node *corev1.Node, ready corev1.ConditionStatus) (bool, error) {
	if node == nil {
		return false, nil
	}
	setReady(node, ready)
	return true, s.countUpdate(s.api.UpdateStatus(node))
}

// cordon cordons or uncordons a node.
func (s *simulation) cordon() (bool, error) {
	return s.updateAny(func(node *corev1.Node) { setUnschedulable(node, !node.Spec.Unschedulable) })
}

// relabel moves a node between the release rings.
func (s *simulation) relabel() (bool, error) {
	return s.updateAny(func(node *corev1.Node) {
		ring := map[string]string{"stable": "canary", "canary": "stable"}
		node.Labels[ringLabel] = ring[node.Labels[ringLabel]]
	})
}

// updateAny updates a random node.
func (s *simulation) updateAny(edit func(*corev1.Node)) (bool, error) {
	node := s.pick(func(*corev1.Node) bool { return true })
	if node == nil {
		return false, nil
	}
	edit(node)
	return true, s.countUpdate(s.api.Update(node))
}

// upgrade upgrades the kubelet of a node to the next version.
func (s *simulation) upgrade() (bool, error) {
	node := s.pick(func(n *corev1.Node) bool { return nextVersion(n) != "" })
	if node == nil {
		return false, nil
	}
	node.Status.NodeInfo.KubeletVersion = nextVersion(node)
	return true, s.countUpdate(s.api.UpdateStatus(node))
}

// countUpdate counts an update if err is nil. It returns err.
func (s *simulation) countUpdate(err error) error {
	if err == nil {
		s.counts.Updated++
	}
	return err
}

// pick returns a random eligible node, or nil if there is none.
func (s *simulation) pick(eligible func(*corev1.Node) bool) *corev1.Node {
	var candidates []*corev1.Node
	for _, node := range s.nodes {
		if eligible(node) {
			candidates = append(candidates, node)
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	return candidates[s.random.IntN(len(candidates))]
}
