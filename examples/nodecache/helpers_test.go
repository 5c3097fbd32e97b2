// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/terminal/terminaltest"
)

// testTimeout is the maximum time that a test waits for an event.
const testTimeout = 20 * time.Second

// startServer starts an API server that is closed at the end of the test.
func startServer(t *testing.T) *fake.APIServer {
	t.Helper()
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return server
}

// kubeconfigFile writes a kubeconfig whose current context, "here", is for the server.
func kubeconfigFile(t *testing.T, url string) (file string) {
	t.Helper()
	return writeFile(t, fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: here
clusters:
- {name: mine, cluster: {server: %q}}
contexts:
- {name: here, context: {cluster: mine}}
- {name: lost, context: {cluster: another}}
`, url))
}

func writeFile(t *testing.T, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// runAsync runs the program in a goroutine. The returned function waits for its end.
func runAsync(ctx context.Context, out *terminaltest.Output, args ...string) (wait func(t *testing.T) (code int, stderr string)) {
	errs, code := terminaltest.NewOutput(), make(chan int, 1)
	go func() { code <- run(ctx, args, out, errs) }()
	return func(t *testing.T) (int, string) {
		t.Helper()
		select {
		case code := <-code:
			return code, errs.String()
		case <-time.After(testTimeout):
			t.Fatalf("program does not end; stdout:\n%s\nstderr:\n%s", out, errs)
			return 0, ""
		}
	}
}

// noon returns the current time of the tests.
func noon() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }

// testNode returns a node with an age at noon and a Ready condition.
func testNode(name string, age time.Duration, ready corev1.ConditionStatus, edits ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:              name,
			CreationTimestamp: metav1.NewTime(noon().Add(-age)),
			Labels:            map[string]string{"pool": "web", corev1.LabelTopologyZone: "eu-1a", corev1.LabelHostname: name},
		},
		Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: "10.0.0.7"}},
			NodeInfo:  corev1.NodeSystemInfo{KubeletVersion: "v1.36.1"},
		},
	}
	if ready != "" {
		setReady(node, ready)
	}
	for _, edit := range edits {
		edit(node)
	}
	return node
}
