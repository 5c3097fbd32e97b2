package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/fake"
)

// nodeAPI is what the simulation asks of an API server: *fake.APIServer. On
// success each method makes the object what the server now holds.
type nodeAPI interface {
	Create(obj fake.Object) error
	Update(obj fake.Object) error
	UpdateStatus(obj fake.Object) error
	Delete(obj fake.Object) error
}

// simulation is the life of a cluster's nodes. What happens depends on the seed
// alone; when, and the time stamps, on the clock. It is the only one who writes
// the nodes, and for one goroutine.
type simulation struct {
	api    nodeAPI
	random *rand.Rand
	size   int            // about which the number of nodes moves
	nodes  []*corev1.Node // as the server holds them
	named  int            // machines so far: no name or address comes twice
	counts counts         // of the writes that succeeded
}

// stepEvery is the time between two steps of the simulation.
const stepEvery = 400 * time.Millisecond

func newSimulation(api nodeAPI, size int, seed uint64) *simulation {
	return &simulation{api: api, size: size, random: rand.New(rand.NewPCG(seed, 0))}
}

// populate creates the nodes of a cluster that has been there for a while.
func (s *simulation) populate() error {
	for range s.size {
		if err := s.create(corev1.ConditionTrue); err != nil {
			return err
		}
	}
	return nil
}

// run makes things happen until ctx ends, more of them in a larger cluster.
func (s *simulation) run(ctx context.Context) error {
	ticker := time.NewTicker(stepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		for range 1 + s.size/200 {
			if err := s.step(); err != nil {
				return fmt.Errorf("the simulation cannot go on: %w", err)
			}
		}
	}
}

// event is something that happens in a cluster, so many times in twenty. It
// returns false if there is no node that it can happen to.
type event struct {
	weight int
	happen func(*simulation) (bool, error)
}

func events() []event {
	return []event{
		{3, (*simulation).join},
		{2, (*simulation).leave},
		{5, (*simulation).recover},
		{3, (*simulation).fail},
		{3, (*simulation).cordon},
		{1, (*simulation).upgrade},
		{3, (*simulation).relabel},
	}
}

// step makes one thing happen that can.
func (s *simulation) step() error {
	all := events()
	for {
		n := s.random.IntN(20)
		i := slices.IndexFunc(all, func(e event) bool { n -= e.weight; return n < 0 })
		if happened, err := all[i].happen(s); happened || err != nil {
			return err
		}
	}
}

// join adds a machine, which is not ready yet, unless there are many.
func (s *simulation) join() (bool, error) {
	if len(s.nodes) > s.size+s.size/4 {
		return false, nil
	}
	return true, s.create(corev1.ConditionFalse)
}

func (s *simulation) create(ready corev1.ConditionStatus) error {
	node := newMachine(s.random, s.named)
	s.named++
	setReady(node, ready)
	if err := s.api.Create(node); err != nil {
		return err
	}
	s.counts.added++
	s.nodes = append(s.nodes, node)
	return nil
}

// leave removes a worker, unless there are few nodes.
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
	s.counts.deleted++
	s.nodes = slices.DeleteFunc(s.nodes, func(n *corev1.Node) bool { return n == node })
	return true, nil
}

// recover makes a node ready that is not.
func (s *simulation) recover() (bool, error) {
	node := s.pick(func(n *corev1.Node) bool { return readiness(n) != corev1.ConditionTrue })
	return s.changeReady(node, corev1.ConditionTrue)
}

// fail takes a ready node from the network.
func (s *simulation) fail() (bool, error) {
	node := s.pick(func(n *corev1.Node) bool { return readiness(n) == corev1.ConditionTrue })
	return s.changeReady(node, corev1.ConditionUnknown)
}

func (s *simulation) changeReady(node *corev1.Node, ready corev1.ConditionStatus) (bool, error) {
	if node == nil {
		return false, nil
	}
	setReady(node, ready)
	return true, s.wrote(s.api.UpdateStatus(node))
}

// cordon closes a node to new Pods, or opens it again.
func (s *simulation) cordon() (bool, error) {
	return s.change(func(node *corev1.Node) { setUnschedulable(node, !node.Spec.Unschedulable) })
}

// relabel moves a node to the other end of a deployment.
func (s *simulation) relabel() (bool, error) {
	return s.change(func(node *corev1.Node) {
		ring := map[string]string{"stable": "canary", "canary": "stable"}
		node.Labels[ringLabel] = ring[node.Labels[ringLabel]]
	})
}

// change updates any node.
func (s *simulation) change(edit func(*corev1.Node)) (bool, error) {
	node := s.pick(func(*corev1.Node) bool { return true })
	if node == nil {
		return false, nil
	}
	edit(node)
	return true, s.wrote(s.api.Update(node))
}

// upgrade gives a node the next patch of Kubernetes.
func (s *simulation) upgrade() (bool, error) {
	node := s.pick(func(n *corev1.Node) bool { return nextVersion(n) != "" })
	if node == nil {
		return false, nil
	}
	node.Status.NodeInfo.KubeletVersion = nextVersion(node)
	return true, s.wrote(s.api.UpdateStatus(node))
}

// wrote counts an update.
func (s *simulation) wrote(err error) error {
	if err == nil {
		s.counts.updated++
	}
	return err
}

// pick returns one of the nodes that a condition holds for, nil if there is none.
func (s *simulation) pick(eligible func(*corev1.Node) bool) *corev1.Node {
	var choice []*corev1.Node
	for _, node := range s.nodes {
		if eligible(node) {
			choice = append(choice, node)
		}
	}
	if len(choice) == 0 {
		return nil
	}
	return choice[s.random.IntN(len(choice))]
}
