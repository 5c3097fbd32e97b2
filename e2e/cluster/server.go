// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// readyTimeout is how long a server may take to become ready. kube-apiserver takes 3 s on 2 idle
// cores.
const readyTimeout = 2 * time.Minute

// readyInterval is the time between two checks of a starting server.
const readyInterval = 50 * time.Millisecond

// Server is one of the servers of a [Cluster]. It keeps its address, data and log when it is
// started again. Its methods are safe for concurrent use.
type Server struct {
	name  string
	path  string
	args  []string
	ready func(context.Context) error // returns nil once the server is ready
	log   string                      // path of the log file, to which each start appends

	mu   sync.Mutex // guards proc; held while the process starts or ends
	proc *process   // nil if the server was not started or was stopped
}

// Start starts the server and returns when it is ready. An error contains the end of the log.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		return fmt.Errorf("%s is already running", s.name)
	}
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", s.name, err)
	}
	defer log.Close() // the process has its own descriptor
	proc, err := startProcess(log, s.path, s.args...)
	if err != nil {
		return err
	}
	if err := s.waitReady(ctx, proc); err != nil {
		return errors.Join(fmt.Errorf("%s: %w; its log ends with\n%s", s.name, err, tail(s.log)), proc.kill())
	}
	s.proc = proc
	return nil
}

// waitReady waits until the server is ready. It returns an error as soon as the process has ended.
func (s *Server) waitReady(ctx context.Context, proc *process) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ticker := time.NewTicker(readyInterval)
	defer ticker.Stop()
	for {
		err := s.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-proc.done:
			return fmt.Errorf("ended before it was ready: %w", errors.Join(errEnded, proc.err))
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w (%w)", err, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// errEnded reports a server that ended while it started, for example because its port was taken.
var errEnded = errors.New("the process has ended")

// Stop stops the server with SIGTERM, as a rolling update does, and returns when it has ended. It
// does nothing if the server is not running.
func (s *Server) Stop() error { return s.end((*process).stop) }

// Kill kills the server, as in a crash, and returns when it has ended. Writes that etcd
// acknowledged survive, in the kernel's page cache if not on disk.
func (s *Server) Kill() error { return s.end((*process).kill) }

// Restart stops the server and starts it again with the same data and address.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Stop(); err != nil {
		return err
	}
	return s.Start(ctx)
}

// Log returns the path of the server's log.
func (s *Server) Log() string { return s.log }

// CPUTime returns the CPU time that the running server has used. Only Linux has it.
func (s *Server) CPUTime() (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return 0, fmt.Errorf("%s is not running", s.name)
	}
	return CPUTime(s.proc.cmd.Process.Pid)
}

func (s *Server) end(how func(*process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil
	}
	proc := s.proc
	s.proc = nil
	return how(proc)
}

// newServer returns a server that is not running. Its log is in dir.
func newServer(name, path, dir string, ready func(context.Context) error, args ...string) *Server {
	return &Server{name: name, path: path, args: args, ready: ready, log: filepath.Join(dir, name+".log")}
}
