// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/internal/terminal/terminaltest"
)

func TestOncePrintsClusterFromKubeconfig(t *testing.T) {
	server := startServer(t)
	for _, node := range []*corev1.Node{
		testNode("b", 0, corev1.ConditionTrue, cordoned),
		testNode("a", 0, corev1.ConditionFalse, labelled(controlPlaneLabel, "")),
		testNode("c", 0, corev1.ConditionFalse, withoutVersion),
	} {
		if err := server.Create(node); err != nil {
			t.Fatal(err)
		}
	}
	out := terminaltest.NewOutput()
	code, stderr := runAsync(t.Context(), out, "--kubeconfig", kubeconfigFile(t, server.URL()), "--once")(t)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d and %s", code, stderr)
	}
	got := regexp.MustCompile(`synced in \S+\n`).ReplaceAllString(out.String(), "synced in X\n")
	got = regexp.MustCompile(`\b\ds\b`).ReplaceAllString(got, "1s")
	want := `
NAME   STATUS                     ROLES           AGE   VERSION   INTERNAL-IP   ZONE    LABELS
a      NotReady                   control-plane   1s    v1.36.1   10.0.0.7      eu-1a   pool=web
b      Ready,SchedulingDisabled   <none>          1s    v1.36.1   10.0.0.7      eu-1a   pool=web
c      NotReady                   <none>          1s    <none>    10.0.0.7      eu-1a   pool=web

3 nodes: 2 NotReady, 1 Ready,SchedulingDisabled; resourceVersion 4 of ` + server.URL() + `; synced in X
`
	if got != want[1:] {
		t.Errorf("got\n%swant%s", got, want)
	}
}

func TestOncePrintsSimulatedCluster(t *testing.T) {
	for _, n := range []int{1, 600} {
		out := terminaltest.NewOutput()
		code, stderr := runAsync(t.Context(), out, "--once", "--nodes", fmt.Sprint(n))(t)
		if code != 0 || stderr != "" {
			t.Fatalf("got exit code %d and %s", code, stderr)
		}
		if rows := strings.Count(out.String(), "  10."); rows != n || !strings.Contains(out.String(), "; resourceVersion "+fmt.Sprint(n+1)) {
			t.Errorf("got %d of %d nodes:\n%.2000s", rows, n, out)
		}
	}
}

func TestOncePrintsHeaderWithoutNodes(t *testing.T) {
	server := startServer(t)
	out := terminaltest.NewOutput()
	code, stderr := runAsync(t.Context(), out, "--kubeconfig", kubeconfigFile(t, server.URL()), "--once")(t)
	if code != 0 || stderr != "" || !strings.HasPrefix(out.String(), "NAME ") || !strings.Contains(out.String(), "\n\n0 nodes; resourceVersion 1 of ") {
		t.Errorf("got exit code %d, %s and\n%s", code, stderr, out)
	}
}
