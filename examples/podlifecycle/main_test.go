// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/examples/internal/program"
	"github.com/kinformer/kinformer/fake"
)

// TestOneProcess runs the whole scenario in one process, which ends by itself.
func TestOneProcess(t *testing.T) {
	p := program.Start(t)
	p.Expect("you", "create ReplicaSet", "2 replicas")
	p.Expect("controller", "did", "create Pod")
	p.ExpectEach(
		[]string{"controller", "saw", "Running  (watch pods)"},
		[]string{"scheduler", "saw", "Running  (watch pods)"},
		[]string{"node-", "saw", "Running  (watch pods?spec.nodeName=node-"},
		[]string{"you", "running Pods: 2"},
	)
	p.Expect("you", "running Pods: 3")
	p.Expect("controller", "did", "delete Pod")
	p.Expect("you", "running Pods: 1")
	p.Expect("you", "delete ReplicaSet")
	p.Expect("you", "running Pods: 0")
	p.Wait()
}

// TestThreeProcesses runs each component in a process of its own, and the scenario in the last one.
// Each process sees Pods come and go by its own watch.
func TestThreeProcesses(t *testing.T) {
	controller := program.Start(t, "-run", "controller")
	_, url, _ := strings.Cut(controller.Expect("the API server is at"), " at ")
	scheduler := program.Start(t, "-run", "scheduler", "-server", url)
	kubelet := program.Start(t, "-run", "kubelet", "-server", url, "-scenario")
	kubelet.Expect("you", "create ReplicaSet")
	kubelet.Expect("node-", "saw", "Running  (watch pods?spec.nodeName=node-")
	kubelet.ExpectEach([]string{"node-", "saw", "gone  (watch pods?spec.nodeName=node-"}, []string{"running Pods: 0"})
	kubelet.Wait()
	controller.Expect("did", "create Pod")
	controller.Expect("controller", "saw", "Running  (watch pods)")
	controller.Expect("did", "delete Pod")
	controller.ExpectEach([]string{"saw", "Pod", "gone  (watch pods)"}, []string{"saw", "ReplicaSet", "gone  (watch replicasets)"})
	scheduler.Expect("did", "bind Pod")
	scheduler.Expect("scheduler", "saw", "Running  (watch pods)")
	scheduler.Expect("scheduler", "saw", "gone  (watch pods)")
	scheduler.Stop()
	controller.Stop()
}

// TestErrorAfterTheScenarioIsReturned checks that a component's error is not lost if the scenario
// has ended.
func TestErrorAfterTheScenarioIsReturned(t *testing.T) {
	blocked := func(ctx context.Context) error {
		<-ctx.Done()
		return cache.ErrHandlerBlocked
	}
	err := runDuring(t.Context(), func(context.Context) error { return nil }, []runFunc{blocked})
	if !errors.Is(err, cache.ErrHandlerBlocked) {
		t.Errorf("runDuring returned %v, want %v", err, cache.ErrHandlerBlocked)
	}
}

// TestWatchOnly runs the program with the kubeconfig of a cluster whose components are its own.
func TestWatchOnly(t *testing.T) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "web-1"}}
	if err := server.Create(pod); err != nil {
		t.Fatal(err)
	}
	p := program.Start(t, "-kubeconfig", program.Kubeconfig(t, server.Config()), "-namespace", "web")
	p.Expect("watching Namespace web of " + server.URL())
	p.Expect("scheduler", "saw", "Pod web-1 without a node", "list pods")
	p.Stop()
}
