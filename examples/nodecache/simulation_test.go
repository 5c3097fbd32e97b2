// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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

// requestRecorder is a nodeAPI that records the requests as text and returns an error if set.
type requestRecorder struct {
	requests []string
	err      error
}

func (r *requestRecorder) record(verb string, obj fake.Object) error {
	node := obj.(*corev1.Node)
	r.requests = append(r.requests, fmt.Sprintf("%s %s %s %s %s", verb, node.Name, statusText(node), node.Status.NodeInfo.KubeletVersion, labelsText(node)))
	return r.err
}

func (r *requestRecorder) Create(obj fake.Object) error       { return r.record("create", obj) }
func (r *requestRecorder) Update(obj fake.Object) error       { return r.record("update", obj) }
func (r *requestRecorder) UpdateStatus(obj fake.Object) error { return r.record("status", obj) }
func (r *requestRecorder) Delete(obj fake.Object) error       { return r.record("delete", obj) }

// simulate populates a cluster and makes a number of random changes.
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

func TestSameSeedProducesSameChanges(t *testing.T) {
	requests := func(seed uint64) []string {
		api := &requestRecorder{}
		simulate(t, newSimulation(api, 8, seed), 100)
		return api.requests
	}
	if diff := cmp.Diff(requests(1), requests(1)); diff != "" {
		t.Errorf("the same seed produced different requests:\n%s", diff)
	}
	if cmp.Equal(requests(1), requests(2)) {
		t.Error("two seeds produced the same requests")
	}
}

// A simulated cluster keeps its approximate size, each step changes a node, and all kinds of
// changes occur.
func TestSimulationMakesAllChanges(t *testing.T) {
	for _, size := range []int{1, 2, 20} {
		t.Run(fmt.Sprint(size, " nodes"), func(t *testing.T) {
			server := startServer(t)
			s := newSimulation(server, size, 3)
			if err := s.populate(); err != nil {
				t.Fatal(err)
			}
			seen := map[string]int{}
			for range 400 {
				before := server.ResourceVersion()
				if err := s.step(); err != nil {
					t.Fatal(err)
				}
				if server.ResourceVersion() == before {
					t.Fatal("step wrote nothing")
				}
				if n := len(s.nodes); n < size-size/4-1 || n > size+size/4+1 || n == 0 {
					t.Fatalf("got %d nodes, want about %d", n, size)
				}
				for _, node := range s.nodes {
					seen[statusText(node)]++
					seen[node.Status.NodeInfo.KubeletVersion]++
					seen[node.Labels[ringLabel]]++
				}
			}
			for _, value := range append(kubeletVersions(), "Ready", "NotReady", "Ready,SchedulingDisabled", "stable", "canary") {
				if seen[value] == 0 && (size > 2 || strings.HasPrefix(value, "R")) {
					t.Errorf("no node was ever %s", value)
				}
			}
			if s.counts.Added <= size || s.counts.Updated == 0 || s.counts.Deleted == 0 {
				t.Errorf("got %v, want all types of writes", s.counts)
			}
		})
	}
}

func TestSimulatedNodesAreRealistic(t *testing.T) {
	api := &requestRecorder{}
	s := newSimulation(api, 300, 1)
	simulate(t, s, 500)
	seen := map[string]string{} // node name by value that must be unique
	for _, node := range s.nodes {
		for _, id := range []string{node.Name, addressText(node), node.Spec.PodCIDR, node.Spec.ProviderID, node.Status.NodeInfo.MachineID} {
			if other, ok := seen[id]; ok || id == "" || id == none {
				t.Errorf("%s and %s both have %q", node.Name, other, id)
			}
			seen[id] = node.Name
		}
		if node.Labels[corev1.LabelHostname] != node.Name || zoneText(node) == none {
			t.Errorf("%s: got labels %v", node.Name, node.Labels)
		}
		if len(node.Status.Conditions) != 4 || readiness(node) == "" {
			t.Errorf("%s: got conditions %v", node.Name, node.Status.Conditions)
		}
		capacity, allocatable := node.Status.Capacity, node.Status.Allocatable
		if capacity.Cpu().Cmp(*allocatable.Cpu()) <= 0 || capacity.Memory().Cmp(*allocatable.Memory()) <= 0 || allocatable.Pods().IsZero() {
			t.Errorf("%s: got allocatable %v of capacity %v", node.Name, allocatable, capacity)
		}
	}
}

func TestSimulationReturnsServerError(t *testing.T) {
	api := &requestRecorder{}
	s := newSimulation(api, 5, 1)
	simulate(t, s, 0)
	api.err = errors.New("etcdserver: request timed out")
	before := s.counts
	if err := s.run(t.Context()); !errors.Is(err, api.err) {
		t.Errorf("run: got %v", err)
	}
	for range 100 {
		if err := s.step(); !errors.Is(err, api.err) {
			t.Errorf("step: got %v", err)
		}
	}
	if s.counts != before {
		t.Errorf("got counts %v after failed writes, want %v", s.counts, before)
	}
	if err := newSimulation(api, 5, 1).populate(); !errors.Is(err, api.err) {
		t.Errorf("populate: got %v", err)
	}
}
