// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/listserver"
	"github.com/kinformer/kinformer/internal/testing/loopback"
)

const (
	podsPerNamespace = 20
	// addedNamespaces is how many namespaces are added; the figures are medians.
	addedNamespaces = 20
)

// Row scopes measures an informer over namespaces as scopes beside controller-runtime's cache of
// several namespaces. Each side is a child process that lists over plain HTTP, with an index by
// namespace and a handler: a key handler if it is packed. Over HTTP/1.1 each watch has a
// connection.

func scopes(scale Scale) []harness.Experiment {
	s := &scopesServer{namespaces: scale.Namespaces}
	first, second, last := s.hold(child.Kinformer, "live"), s.hold(child.Packed, "packed"), s.add()
	last.Close = s.close
	return []harness.Experiment{first, second, last}
}

// scopesServer is the server of the row's experiments. The first starts it.
type scopesServer struct {
	namespaces int
	server     *loopback.Server
}

func (s *scopesServer) start() (err error) {
	if s.server != nil {
		return nil
	}
	var names []string
	for n := range s.namespaces + 3*addedNamespaces {
		names = append(names, child.Namespace(n))
	}
	s.server, err = listserver.StartNamespaces(names, podsPerNamespace)
	return err
}

func (s *scopesServer) close() error {
	if s.server == nil {
		return nil
	}
	err := s.server.Close()
	s.server = nil
	return err
}

func (s *scopesServer) run(side string, added int) (child.ScopesCost, error) {
	return child.RunScopes(context.Background(), child.ScopesJob{
		Side: side, URL: s.server.URL(), Namespaces: s.namespaces, Pods: podsPerNamespace, Added: added,
	})
}

// hold measures what the namespaces cost.
func (s *scopesServer) hold(side, variant string) harness.Experiment {
	sides := []string{side, child.ControllerRuntime}
	return harness.Experiment{
		Row: "scopes", Setup: variant, Sides: sides,
		Metrics: []harness.Metric{
			{Name: "heap", Unit: "MB", Goal: harness.AtMost(1)},
			{Name: "goroutines", Unit: "", Goal: harness.AtMost(1)},
			{Name: "CPU until synced", Unit: "ms", Goal: harness.AtMost(1)},
			{Name: "time until synced", Unit: "ms", Goal: harness.AtMost(1)},
		},
		Prepare: func() ([]harness.Measure, error) {
			err := s.start()
			return measureEach(sides, func(side string) ([]float64, error) {
				cost, err := s.run(side, 0)
				return []float64{cost.Heap / 1e6, cost.Goroutines, cost.CPU * 1e3, cost.Time * 1e3}, err
			}), err
		},
	}
}

// add measures adding a namespace, beside the start of an informer of one. All sides are measured
// in one process, in turn.
func (s *scopesServer) add() harness.Experiment {
	return harness.Experiment{
		Row: "scopes", Setup: fmt.Sprintf("one namespace of %d Pods added to %d", podsPerNamespace, s.namespaces),
		Sides:   []string{child.Kinformer, "kinformer, informer of one namespace", "client-go, informer of one namespace"},
		Metrics: []harness.Metric{{Name: "until they are delivered", Unit: "ms", Goal: harness.AtMost(1)}},
		Prepare: func() ([]harness.Measure, error) {
			figures := []func(child.ScopesCost) float64{
				func(c child.ScopesCost) float64 { return c.AddTime },
				func(c child.ScopesCost) float64 { return c.AloneTime },
				func(c child.ScopesCost) float64 { return c.ClientGoTime },
			}
			var measures []harness.Measure
			runs := &scopesRuns{server: s}
			for _, figure := range figures {
				round := 0
				measures = append(measures, func() ([]float64, error) {
					cost, err := runs.round(round)
					round++
					return []float64{figure(cost) * 1e3}, err
				})
			}
			return measures, s.start()
		},
	}
}

// scopesRuns are the runs of add, which all sides share.
type scopesRuns struct {
	server *scopesServer
	all    []child.ScopesCost
}

func (r *scopesRuns) round(n int) (child.ScopesCost, error) {
	for n >= len(r.all) {
		cost, err := r.server.run(child.Kinformer, addedNamespaces)
		if err != nil {
			return cost, err
		}
		r.all = append(r.all, cost)
	}
	return r.all[n], nil
}
