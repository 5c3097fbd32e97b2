// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// waitTimeout is the timeout of steps that take seconds on an idle machine.
const waitTimeout = 3 * time.Minute

// startProgram starts the program and returns when it is ready. At the end of the test it stops the
// program and checks that it ends in time and without error.
func startProgram(t *testing.T, config *rest.Config, args ...string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append(args, "--kubeconfig="+kubeconfig(t, dir, config))...)
	// With the detector the program ends if it writes into a cached object.
	cmd.Env = append(os.Environ(), programVariable+"=yes", "KUBE_CACHE_MUTATION_DETECTOR=true")
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		timeout := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
		defer timeout.Stop()
		err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait())
		_ = stdin.Close()
		if err != nil {
			t.Errorf("stop the program: %v", err)
		}
		if t.Failed() {
			showLog(t, log.Name())
		}
	})
	killer := time.AfterFunc(waitTimeout, func() { _ = cmd.Process.Kill() })
	defer killer.Stop()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the program printed %q: %v", line, err)
	}
}

// showLog shows the end of the program's log.
func showLog(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	lines := strings.Split(string(text), "\n")
	t.Logf("the end of the program's log:\n%s", strings.Join(lines[max(0, len(lines)-200):], "\n"))
}

// kubeconfig writes a client's configuration into a file.
func kubeconfig(t *testing.T, dir string, config *rest.Config) string {
	t.Helper()
	file := clientcmdapi.NewConfig()
	file.Clusters["e2e"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthority: config.CAFile}
	file.AuthInfos["e2e"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	file.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "e2e"}
	file.CurrentContext = "e2e"
	path := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// await calls check until it succeeds, and fails the test after waitTimeout.
func await(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := check(ctx)
		if err == nil {
			t.Logf("%s: %s", what, time.Since(began).Round(time.Millisecond))
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("timeout after %s: %s: %v", waitTimeout, what, fmt.Errorf("%w (%w)", err, ctx.Err()))
		}
	}
}
