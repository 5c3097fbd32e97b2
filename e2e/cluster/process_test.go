// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The tests start the test binary as a program. The variable selects its role.
const (
	roleVariable = "KINFORMER_E2E_ROLE"

	roleServer   = "server"   // prints that it runs, and waits for a signal
	roleStubborn = "stubborn" // ignores SIGTERM
	roleParent   = "parent"   // starts a server as a cluster does, and waits for a signal
	roleFailing  = "failing"  // exits immediately
)

// play plays a role. It does not return.
func play(role string) {
	switch role {
	case roleFailing:
		fmt.Println("cannot listen")
		os.Exit(1)
	case roleStubborn:
		signal.Ignore(syscall.SIGTERM)
	case roleParent:
		if err := os.Setenv(roleVariable, roleServer); err != nil {
			panic(err)
		}
		if _, err := startProcess(os.Stdout, os.Args[0]); err != nil {
			panic(err)
		}
		waitForSignal()
	}
	fmt.Println("running")
	waitForSignal()
}

// waitForSignal waits for a signal that ends the process. It exits after a minute, so that a failed
// test leaves no process behind.
func waitForSignal() {
	<-time.After(time.Minute)
	os.Exit(1)
}

// startRole starts the test binary in a role, and returns once it has printed that it runs.
func startRole(t *testing.T, role string) *process {
	t.Helper()
	t.Setenv(roleVariable, role)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	p, err := startProcess(write, os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.kill(); err != nil {
			t.Error(err)
		}
	})
	write.Close()
	awaitRunning(t, read)
	return p
}

func awaitRunning(t *testing.T, output io.Reader) {
	t.Helper()
	line, err := bufio.NewReader(output).ReadString('\n')
	if line != "running\n" {
		t.Fatalf("the process printed %q (%v), want running", line, err)
	}
}

func TestStopSendsSIGTERM(t *testing.T) {
	p := startRole(t, roleServer)
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	if got := endedBy(p); got != syscall.SIGTERM {
		t.Errorf("the process was ended by %s, want SIGTERM", got)
	}
	if err := p.stop(); err != nil {
		t.Errorf("stop of an ended process: %v", err)
	}
}

func TestKillSendsSIGKILL(t *testing.T) {
	p := startRole(t, roleStubborn)
	if err := p.kill(); err != nil {
		t.Fatal(err)
	}
	if got := endedBy(p); got != syscall.SIGKILL {
		t.Errorf("the process was ended by %s, want SIGKILL", got)
	}
}

func endedBy(p *process) syscall.Signal {
	<-p.done
	return p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal()
}

// TestServersDieWithTheTestProcess kills the parent of a server. A killed test runs no cleanup, and
// its servers must end nevertheless. Both processes hold the pipe, so it is closed when neither
// runs.
func TestServersDieWithTheTestProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("only Linux ends the children of a killed process: nothing to check")
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+roleParent)
	output, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	awaitRunning(t, output)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := output.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, output); err != nil {
		t.Errorf("the server outlived the test process: %v", err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the parent exited without being killed")
	}
}

// TestStartReportsAServerThatEnds checks that Start returns as soon as the server has ended, with
// the end of its log.
func TestStartReportsAServerThatEnds(t *testing.T) {
	t.Setenv(roleVariable, roleFailing)
	never := func(context.Context) error { return fmt.Errorf("no answer") }
	s := newServer("failing", os.Args[0], t.TempDir(), never)
	err := s.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "cannot listen") || !strings.Contains(err.Error(), "ended before it was ready") {
		t.Errorf("Start returned %v, want an error with the end of the log", err)
	}
	if err := s.Stop(); err != nil {
		t.Errorf("Stop of a server that is not running: %v", err)
	}
}

func TestStartTwice(t *testing.T) {
	t.Setenv(roleVariable, roleServer)
	s := newServer("server", os.Args[0], t.TempDir(), func(context.Context) error { return nil })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err == nil {
		t.Error("Start of a running server returned no error")
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

func TestFreePortsAreDistinctAndNotEphemeral(t *testing.T) {
	addrs, err := freePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, addr := range addrs {
		if p := port(addr); seen[addr] || p < "20000" || p >= "32000" {
			t.Errorf("port %s of %v is a duplicate or out of range", p, addrs)
		}
		seen[addr] = true
	}
}
