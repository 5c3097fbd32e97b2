package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/fake"
)

// story is an API server's side of a simulation, as text.
type story struct {
	told []string
	fail error
}

func (s *story) tell(verb string, obj fake.Object) error {
	node := obj.(*corev1.Node)
	s.told = append(s.told, fmt.Sprintf("%s %s %s %s %s", verb, node.Name, statusText(node), node.Status.NodeInfo.KubeletVersion, labelsText(node)))
	return s.fail
}

func (s *story) Create(obj fake.Object) error       { return s.tell("create", obj) }
func (s *story) Update(obj fake.Object) error       { return s.tell("update", obj) }
func (s *story) UpdateStatus(obj fake.Object) error { return s.tell("status", obj) }
func (s *story) Delete(obj fake.Object) error       { return s.tell("delete", obj) }

// simulate populates a cluster and lets so much happen in it.
func simulate(t *testing.T, s *simulation, steps int) {
	t.Helper()
	if err := s.populate(); err != nil {
		t.Fatal(err)
	}
	for range steps {
		if err := s.step(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSameSeedSameStory(t *testing.T) {
	tell := func(seed uint64) []string {
		api := &story{}
		simulate(t, newSimulation(api, 8, seed), 100)
		return api.told
	}
	if diff := cmp.Diff(tell(1), tell(1)); diff != "" {
		t.Errorf("the same seed told another story:\n%s", diff)
	}
	if cmp.Equal(tell(1), tell(2)) {
		t.Error("two seeds told the same story")
	}
}

// A cluster of any size stays about that size, nobody writes without effect or
// with a stale version, and everything that can happen does.
func TestSimulatedClusters(t *testing.T) {
	for _, size := range []int{1, 2, 20} {
		t.Run(fmt.Sprint(size, " nodes"), func(t *testing.T) {
			server := startServer(t)
			s := newSimulation(server, size, 3)
			if err := s.populate(); err != nil {
				t.Fatal(err)
			}
			happened := map[string]int{}
			for range 400 {
				before := server.ResourceVersion()
				if err := s.step(); err != nil {
					t.Fatal(err)
				}
				if server.ResourceVersion() == before {
					t.Fatal("a step changed nothing")
				}
				if n := len(s.nodes); n < size-size/4-1 || n > size+size/4+1 || n == 0 {
					t.Fatalf("%d nodes", n)
				}
				for _, node := range s.nodes {
					happened[statusText(node)]++
					happened[node.Status.NodeInfo.KubeletVersion]++
					happened[node.Labels[ringLabel]]++
				}
			}
			for _, what := range append(kubeletVersions(), "Ready", "NotReady", "Ready,SchedulingDisabled", "stable", "canary") {
				if happened[what] == 0 && (size > 2 || strings.HasPrefix(what, "R")) {
					t.Errorf("nothing was ever %s", what)
				}
			}
			if s.counts.added <= size || s.counts.updated == 0 || s.counts.deleted == 0 {
				t.Errorf("only %v", s.counts)
			}
		})
	}
}

func TestSimulatedNodesLookReal(t *testing.T) {
	api := &story{}
	s := newSimulation(api, 300, 1)
	simulate(t, s, 500)
	seen := map[string]string{} // what has to be unique
	for _, node := range s.nodes {
		for _, id := range []string{node.Name, addressText(node), node.Spec.PodCIDR, node.Spec.ProviderID, node.Status.NodeInfo.MachineID} {
			if other, ok := seen[id]; ok || id == "" || id == none {
				t.Errorf("%s and %s have the same %q", node.Name, other, id)
			}
			seen[id] = node.Name
		}
		if node.Labels[corev1.LabelHostname] != node.Name || zoneText(node) == none {
			t.Errorf("%s has the labels %v", node.Name, node.Labels)
		}
		if len(node.Status.Conditions) != 4 || readiness(node) == "" {
			t.Errorf("%s has the conditions %v", node.Name, node.Status.Conditions)
		}
		capacity, allocatable := node.Status.Capacity, node.Status.Allocatable
		if capacity.Cpu().Cmp(*allocatable.Cpu()) <= 0 || capacity.Memory().Cmp(*allocatable.Memory()) <= 0 || allocatable.Pods().IsZero() {
			t.Errorf("%s has %v of %v", node.Name, allocatable, capacity)
		}
	}
}

func TestSimulationEndsWithTheServersError(t *testing.T) {
	api := &story{}
	s := newSimulation(api, 5, 1)
	simulate(t, s, 0)
	api.fail = errors.New("etcd has burnt down")
	before := s.counts
	if err := s.run(t.Context()); !errors.Is(err, api.fail) {
		t.Errorf("got %v", err)
	}
	for range 100 {
		if err := s.step(); !errors.Is(err, api.fail) {
			t.Errorf("step: %v", err)
		}
	}
	if s.counts != before {
		t.Errorf("a write that failed was counted: %v", s.counts)
	}
	if err := newSimulation(api, 5, 1).populate(); !errors.Is(err, api.fail) {
		t.Errorf("populate: %v", err)
	}
}
