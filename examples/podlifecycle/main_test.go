// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/kinformer/kinformer/examples/internal/program"
)

// scenarioSteps are lines of the scenario, in order.
var scenarioSteps = [][]string{
	{"you", "create ReplicaSet", "2 replicas"},
	{"controller", "did", "create Pod"},
	{"node-", "saw", "bound to node-", "watch pods?spec.nodeName=node-"},
	{"controller", "saw", "Running", "watch pods"},
	{"you", "running Pods: 2"},
	{"running Pods: 3"},
	{"controller", "did", "delete Pod"},
	{"running Pods: 1"},
	{"you", "delete ReplicaSet"},
	{"running Pods: 0"},
}

// TestOneProcess runs the whole scenario in one process, which ends by itself.
func TestOneProcess(t *testing.T) {
	p := program.Start(t)
	for _, step := range scenarioSteps {
		p.Expect(step...)
	}
	p.Wait()
}

// TestThreeProcesses runs each component in a process of its own, and the scenario in the last one.
func TestThreeProcesses(t *testing.T) {
	controller := program.Start(t, "-run", "controller")
	_, url, _ := strings.Cut(controller.Expect("the API server is at"), " at ")
	scheduler := program.Start(t, "-run", "scheduler", "-server", url)
	kubelet := program.Start(t, "-run", "kubelet", "-server", url, "-scenario")
	kubelet.Expect("you", "create ReplicaSet")
	controller.Expect("did", "create Pod")
	scheduler.Expect("did", "bind Pod")
	kubelet.Expect("running Pods: 0")
	kubelet.Wait()
	scheduler.Stop()
	controller.Stop()
}
