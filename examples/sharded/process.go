// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// The states of a process.
const (
	running  = "running"
	paused   = "paused"
	stopping = "stopping"
	stopped  = "stopped"
	killed   = "killed"
)

// process is a replica that runs as a child process. It may be started again after it has ended.
// Its methods are safe for concurrent use.
type process struct {
	name   string
	args   []string
	stderr io.Writer

	mu      sync.Mutex
	state   string
	since   time.Time // the state
	command *exec.Cmd
	stdin   io.Closer
	ended   chan struct{} // closed once the child process has ended
	last    report
}

// start starts the child process, unless it runs.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isAlive() {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p.command = exec.Command(self, p.args...) //nolint:noctx // stop and kill end it
	p.command.Stderr = p.stderr
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return err
	}
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return err
	}
	if err := p.command.Start(); err != nil {
		return err
	}
	p.set(running)
	p.last, p.ended = report{}, make(chan struct{})
	go p.follow(p.command, stdout, p.ended)
	return nil
}

// follow reads the reports of a child process, and waits for its end.
func (p *process) follow(command *exec.Cmd, stdout io.Reader, ended chan<- struct{}) {
	defer close(ended)
	for decoder := json.NewDecoder(stdout); ; {
		var r report
		if decoder.Decode(&r) != nil {
			break // the child process has ended, or does so now, as it cannot write
		}
		p.mu.Lock()
		p.last = r
		p.mu.Unlock()
	}
	err := command.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.state == killed:
	case err != nil:
		p.set(fmt.Sprint("failed: ", err))
	default:
		p.set(stopped)
	}
}

// kill ends the child process at once. It does not hand its slots over.
func (p *process) kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isAlive() {
		return nil
	}
	p.set(killed)
	return p.command.Process.Kill()
}

// pause stops the child process as SIGSTOP does, or continues it.
func (p *process) pause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.state {
	case running:
		p.set(paused)
		return suspend(p.command.Process)
	case paused:
		p.set(running)
		return resume(p.command.Process)
	}
	return nil
}

// stop makes the child process hand its slots over and end.
func (p *process) stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isAlive() {
		return nil
	}
	if p.state == paused {
		if err := resume(p.command.Process); err != nil {
			return err
		}
	}
	p.set(stopping)
	return p.stdin.Close()
}

// close stops the child process, and kills it if it does not end in time.
func (p *process) close() {
	_ = p.stop()
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	if ended == nil {
		return
	}
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		_ = p.kill()
		<-ended
	}
}

// isAlive reports whether the child process runs. The caller holds mu.
func (p *process) isAlive() bool {
	return p.state == running || p.state == paused || p.state == stopping
}

// set sets the state. The caller holds mu.
func (p *process) set(state string) { p.state, p.since = state, time.Now() }

// status is the state of a process at one moment.
type status struct {
	name   string
	state  string
	since  time.Time
	alive  bool
	report report // the last one
}

func (p *process) status() status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return status{p.name, p.state, p.since, p.isAlive(), p.last}
}
