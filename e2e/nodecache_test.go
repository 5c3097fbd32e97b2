// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kinformer/kinformer/e2e/cluster"
	"github.com/kinformer/kinformer/e2e/objects"
)

// TestNodecacheProcess runs the example as users do: as a process that finds the cluster by a
// kubeconfig.
func TestNodecacheProcess(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{})
	clientset := clientsetFor(t, c)
	const number = 25
	life := objects.NewLife(clientset, seed)
	for i := range number {
		if _, err := life.Join(t.Context(), objects.NewNode(seed, i)); err != nil {
			t.Fatal(err)
		}
	}
	program, kubeconfig := buildNodecache(t), writeKubeconfig(t, c)

	p := startProcess(t, program, "--kubeconfig", kubeconfig)
	for range number {
		p.expect(t, "added", "Ready")
	}
	node, err := life.Join(t.Context(), objects.NewNode(seed, number))
	if err != nil {
		t.Fatal(err)
	}
	p.expect(t, "added", node.Name)
	p.expect(t, "updated", node.Name)
	if err := clientset.CoreV1().Nodes().Delete(t.Context(), node.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.expect(t, "deleted", node.Name)

	// The API server stops and starts again.
	if err := c.APIServer().Stop(); err != nil {
		t.Fatal(err)
	}
	p.expect(t, "error", "connection refused")
	if err := c.APIServer().Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.expect(t, "recovered", "at resourceVersion")
	if err := clientset.CoreV1().Nodes().Delete(t.Context(), objects.NodeName(0), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.expect(t, "deleted", objects.NodeName(0))
	p.expect(t, "summary", fmt.Sprint(number-1, " nodes, "), "Watching at resourceVersion")
	p.interrupt(t)
}

// buildNodecache builds the example and returns the program.
func buildNodecache(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "nodecache")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./nodecache")
	build.Dir = "../examples"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build nodecache: %v\n%s", err, out)
	}
	return program
}

// writeKubeconfig writes a kubeconfig for a cluster and returns its path.
func writeKubeconfig(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	config, path := c.Config(), filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"e2e": {Server: config.Host, CertificateAuthority: config.CAFile}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"e2e": {Token: config.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"e2e": {Cluster: "e2e", AuthInfo: "e2e"}},
		CurrentContext: "e2e",
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// liveProcess is a running program that prints a line for each event.
type liveProcess struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	lines  chan string // closed at the end of the output
	output []string
	ended  chan error
}

func startProcess(t *testing.T, program string, args ...string) *liveProcess {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &liveProcess{cmd: exec.CommandContext(ctx, program, args...), lines: make(chan string, 1000), ended: make(chan error, 1)}
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	go func() {
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
		close(p.lines)
		p.ended <- p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() { // also after a failure
		cancel()
		for range p.lines {
		}
		<-p.ended
	})
	return p
}

// expect reads up to the next line of a kind that contains all texts.
func (p *liveProcess) expect(t *testing.T, kind string, texts ...string) {
	t.Helper()
	timeout := time.NewTimer(waitTimeout)
	defer timeout.Stop()
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				t.Fatalf("the program ended before it printed %s with %q:\n%s", kind, texts, strings.Join(p.output, "\n"))
			}
			p.output = append(p.output, line)
			if hasAll(line, append(texts, "  "+kind+" ")) {
				return
			}
		case <-timeout.C:
			t.Fatalf("the program did not print %s with %q within %s:\n%s", kind, texts, waitTimeout, strings.Join(p.output, "\n"))
		}
	}
}

func hasAll(line string, texts []string) bool {
	for _, text := range texts {
		if !strings.Contains(line, text) {
			return false
		}
	}
	return true
}

// interrupt sends SIGINT. The process must exit with code 0.
func (p *liveProcess) interrupt(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	killing := time.AfterFunc(waitTimeout, func() { _ = p.cmd.Process.Kill() })
	defer killing.Stop()
	var last string
	for line := range p.lines {
		last = line
	}
	if err := <-p.ended; err != nil {
		t.Errorf("the program ended with %v, want exit code 0; stderr:\n%s", err, p.stderr.String())
	}
	if !strings.Contains(last, "  summary ") {
		t.Errorf("the last line is %q, want a summary", last)
	}
}
