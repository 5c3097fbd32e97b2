// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/kinformer/kinformer/fake"
)

// A simulated cluster keeps its size, and each step changes a node.
func TestSimulationChangesNodes(t *testing.T) {
	for _, size := range []int{1, 2, 20} {
		t.Run(fmt.Sprint(size, " nodes"), func(t *testing.T) {
			server, err := fake.StartAPIServer(fake.APIServerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = server.Close(context.Background()) }()
			s, seen := newSimulation(server, size), map[string]bool{}
			for range 300 {
				version := server.ResourceVersion()
				s.step()
				if server.ResourceVersion() == version {
					t.Fatal("a step wrote nothing")
				}
				if n := len(s.nodes); n != size && n != size+1 || s.nodes[0].Name != "control-plane" {
					t.Fatalf("got %d nodes, the first of them %s", n, s.nodes[0].Name)
				}
				for _, node := range s.nodes {
					seen[statusOf(node)] = true
				}
			}
			if len(seen) != 4 {
				t.Errorf("got the statuses %v, want all four", seen)
			}
		})
	}
}
