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

// readyTimeout is how long a server may take to answer after it was started. kube-apiserver takes 3 s on 2 idle cores.
const readyTimeout = 2 * time.Minute

// readyInterval is how often a starting server is asked whether it is ready.
const readyInterval = 50 * time.Millisecond

// Server is one of the two servers of a [Cluster]. It keeps its address, its data and its log from one start to the
// next. Methods may be called from several goroutines; one that starts or ends the process waits for the one before.
type Server struct {
	name  string
	path  string
	args  []string
	ready func(context.Context) error // nil once the server does its work
	log   string                      // path of the file that every start appends to

	mu   sync.Mutex // guards what follows, and is held while the process starts or ends
	proc *process   // nil when none was started, or it was ended on purpose
}

// Start starts the server and returns when it does its work. An error names its log and shows the end of it.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		return fmt.Errorf("%s was started already", s.name)
	}
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", s.name, err)
	}
	defer log.Close() // the process has its own handle
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

// waitReady asks until the server is ready. It gives up at once when the process has ended, instead of asking a dead one.
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

// errEnded marks a server that ended while it started, because its port was taken in the meantime, for one.
var errEnded = errors.New("the process has ended")

// Stop asks the server to end, as a rolling update does, and returns when it has. A server that does not run is fine.
func (s *Server) Stop() error { return s.end((*process).stop) }

// Kill ends the server as a crash does, and returns when it has. What etcd acknowledged stays: it survives in the
// kernel's memory, whatever etcd has not synced to disk.
func (s *Server) Kill() error { return s.end((*process).kill) }

// Restart stops the server and starts it again with its data and at its address.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Stop(); err != nil {
		return err
	}
	return s.Start(ctx)
}

// Log is the path of the server's log.
func (s *Server) Log() string { return s.log }

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

// newServer describes a server whose log is in dir.
func newServer(name, path, dir string, ready func(context.Context) error, args ...string) *Server {
	return &Server{name: name, path: path, args: args, ready: ready, log: filepath.Join(dir, name+".log")}
}
