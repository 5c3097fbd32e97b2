// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/examples/internal/program"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/goroutines"
)

func TestMain(m *testing.M) { goroutines.VerifyTestMain(m) }

// TestSimulationIsShown runs the program without a cluster, until it has recovered from a restart
// of the API server.
func TestSimulationIsShown(t *testing.T) {
	t.Parallel()
	p := program.Start(t, "-nodes", "2")
	p.Expect("watching", "nodes of http://127.0.0.1:")
	p.ExpectEach([]string{"added", "control-plane  Ready"}, []string{"added", "worker-001  Ready"})
	p.Expect("updated", "STATUS ")
	p.Expect("error", "connection refused")
	p.Expect("recovered", "at resourceVersion ")
	p.Expect("summary", "nodes, ", "ready; Watching at resourceVersion ")
	p.Stop()
}

// TestClusterIsShown runs the program against the cluster of a kubeconfig.
func TestClusterIsShown(t *testing.T) {
	t.Parallel()
	server, err := fake.StartAPIServer(fake.APIServerOptions{Token: "secret", TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	node := newNode(7)
	must(server.Create(node))
	p := program.Start(t, "-kubeconfig", program.Kubeconfig(t, server.Config()), "-duration", "1h")
	p.Expect("added", "worker-007  NotReady")
	setReady(node, corev1.ConditionTrue)
	must(server.UpdateStatus(node))
	p.Expect("updated", "worker-007  STATUS NotReady -> Ready")
	must(server.Delete(node))
	p.Expect("deleted", "worker-007")
	if err := server.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Expect("error", "connection refused")
	p.Stop()
}

func TestDurationEndsProgram(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), options{nodes: 3, duration: time.Second}, &out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, "  added ") < 3 || !strings.Contains(text, " ready; Stopped at resourceVersion ") {
		t.Errorf("got\n%s", text)
	}
}

// TestArgumentsAreRefused passes an argument behind the flags.
func TestArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	program.Start(t, "-nodes", "2", "worker-001").Expect(`nodecache: unexpected argument "worker-001"`)
}

func TestInvalidOptionsAreErrors(t *testing.T) {
	for want, o := range map[string]options{
		"invalid -nodes 0: want at least 1": {},
		"no such file":                      {nodes: 1, kubeconfig: "/no/such"},
	} {
		if err := run(t.Context(), o, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}
