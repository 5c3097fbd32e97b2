// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// killDelay is how long a server may take to end after SIGTERM. kube-apiserver ends its watches and
// requests first, which takes a few seconds in tests.
const killDelay = 20 * time.Second

// process is a running server. On Linux it never outlives this process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // how it ended; read after done is closed
}

// startProcess starts a program that writes its output to log.
func startProcess(log *os.File, path string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(path, args...), done: make(chan struct{})} //nolint:noctx // a server outlives the context of Start
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = diesWithParent()
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return p, nil
}

// run starts the process and waits for it on one thread: the kernel sends the signal of
// diesWithParent when the thread that started the process ends, so that thread must live as long as
// the process.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
	close(p.done)
}

// stop sends SIGTERM, and SIGKILL if the process does not end within killDelay. It returns once the
// process has ended.
func (p *process) stop() error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	timeout := time.NewTimer(killDelay)
	defer timeout.Stop()
	select {
	case <-p.done:
		return nil
	case <-timeout.C:
		return errors.Join(p.kill(), fmt.Errorf("%s did not end within %s and was killed", p.cmd.Path, killDelay))
	}
}

// kill sends SIGKILL and returns once the process has ended.
func (p *process) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// CPUTime returns the user and system time of a process from /proc, where it is in hundredths of a
// second. Only Linux has it.
func CPUTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond, errors.Join(err1, err2)
}

// signal sends sig by the process handle, so that it cannot reach another process with the same id.
func (p *process) signal(sig os.Signal) error {
	err := p.cmd.Process.Signal(sig)
	if err == nil || errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return fmt.Errorf("send %s to %s: %w", sig, p.cmd.Path, err)
}
