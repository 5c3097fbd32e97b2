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

// The test binary plays the programs that these tests start: the variable says which.
const (
	roleVariable = "KINFORMER_E2E_ROLE"

	roleServer   = "server"   // says that it runs, and waits for a signal
	roleStubborn = "stubborn" // does not listen to SIGTERM
	roleParent   = "parent"   // starts a server as a cluster does, and waits to be killed
	roleFailing  = "failing"  // ends at once
)

// play never returns.
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
		waitForTheEnd()
	}
	fmt.Println("running")
	waitForTheEnd()
}

// waitForTheEnd is there to be killed. It ends by itself, late, so that a failing test leaves nothing behind for long.
func waitForTheEnd() {
	<-time.After(time.Minute)
	os.Exit(1)
}

// startRole starts the test binary in a role, and returns it once it has said that it runs.
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
		t.Fatalf("the process said %q (%v), want running", line, err)
	}
}

func TestStopAsksFirst(t *testing.T) {
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

func TestKillDoesNotAsk(t *testing.T) {
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

// A test that is killed (its time limit, kill -9) runs no cleanup, and the servers have to end all the same. Both processes
// hold the pipe, so its end is seen when neither runs any more.
func TestServersDieWithTheTestProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("only Linux ends the children of a killed process; nothing to check")
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
	if err := output.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, output); err != nil {
		t.Errorf("the server outlived the test process: %v", err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the parent ended by itself, want killed")
	}
}

// A server that ends while it starts is reported at once, with what it said, instead of being asked until the time is up.
func TestStartReportsAServerThatEnds(t *testing.T) {
	t.Setenv(roleVariable, roleFailing)
	never := func(context.Context) error { return fmt.Errorf("no answer") }
	s := newServer("failing", os.Args[0], t.TempDir(), never)
	err := s.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "cannot listen") || !strings.Contains(err.Error(), "ended before it was ready") {
		t.Errorf("Start gave %v, want that it ended, and the end of its log", err)
	}
	if err := s.Stop(); err != nil {
		t.Errorf("Stop of a server that never ran: %v", err)
	}
}

func TestStartTwice(t *testing.T) {
	t.Setenv(roleVariable, roleServer)
	s := newServer("server", os.Args[0], t.TempDir(), func(context.Context) error { return nil })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err == nil {
		t.Error("a second Start of a running server gave no error")
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

func TestFreePortsAreDifferentAndBelowTheEphemeralOnes(t *testing.T) {
	addrs, err := freePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, addr := range addrs {
		if p := port(addr); seen[addr] || p < "20000" || p >= "32000" {
			t.Errorf("port %s of %v is not what it should be", p, addrs)
		}
		seen[addr] = true
	}
}
