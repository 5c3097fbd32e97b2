// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/kinformer/kinformer/examples/internal/terminal"
)

// showReplicas starts three replicas, and shows them until ctx ends or a key quits.
func (o options) showReplicas(ctx context.Context) error {
	isTerminal := term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
	stderr := io.Writer(os.Stderr)
	if isTerminal && term.IsTerminal(int(os.Stderr.Fd())) {
		stderr = io.Discard // it would disrupt the table
	}
	v := &view{title: o.title(), configMaps: o.configMaps, replicas: o.newReplicas(stderr), out: os.Stdout}
	defer v.close()
	for _, replica := range v.replicas {
		if err := replica.start(); err != nil {
			return err
		}
	}
	if isTerminal {
		return v.onTerminal(ctx, os.Stdin)
	}
	return v.inLines(ctx)
}

func (o options) title() string {
	server := o.server
	if o.kubeconfig != "" {
		server = "the cluster of " + o.kubeconfig
	}
	return fmt.Sprintf("%d ConfigMaps of %s, Leases of %v", o.configMaps, server, o.leaseDuration)
}

// newReplicas returns three replicas that are not started.
func (o options) newReplicas(stderr io.Writer) (replicas []*process) {
	for _, name := range []string{"a", "b", "c"} {
		args := []string{
			"replica", "-name=" + name, "-kubeconfig=" + o.kubeconfig, "-server=" + o.server, "-namespace=" + o.namespace,
			"-lease-duration=" + o.leaseDuration.String(),
		}
		replicas = append(replicas, &process{name: name, args: args, stderr: stderr})
	}
	return replicas
}

// view shows replicas.
type view struct {
	title      string
	configMaps int
	replicas   []*process
	out        io.Writer

	mu       sync.Mutex // guards the following
	selected int
	failed   error // of the last key
}

// close stops the replicas.
func (v *view) close() {
	for _, replica := range v.replicas {
		_ = replica.stop() // so that they stop at the same time
	}
	for _, replica := range v.replicas {
		replica.close()
	}
}

func (v *view) table(selected int) table {
	t := table{selected: selected, configMaps: v.configMaps, now: time.Now()}
	for _, replica := range v.replicas {
		t.statuses = append(t.statuses, replica.status())
	}
	return t
}

// inLines prints the table every five seconds, and at the end.
func (v *view) inLines(ctx context.Context) error {
	ticker := time.NewTicker(5 * time.Second)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
		fmt.Fprintln(v.out, time.Now().Format(time.TimeOnly)+"  "+terminal.Text(v.title, v.table(-1).state()))
	}
	return nil
}

// onTerminal shows the table, and obeys keys.
func (v *view) onTerminal(ctx context.Context, in *os.File) error {
	normal, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go v.obey(in, cancel)
	screen := terminal.NewView(v.out, v.title)
	screen.Run(ctx.Done(), v.state)
	err = term.Restore(int(in.Fd()), normal)
	screen.Finish(v.table(-1).state())
	return err
}

// state returns the table, with the error of the last key.
func (v *view) state() terminal.State {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.table(v.selected).state()
	s.Keys = "1-3 select, k kill, p pause or continue, s stop, r start, q quit"
	if v.failed != nil {
		s.Failure = v.failed.Error()
	}
	return s
}

var errQuit = errors.New("quit")

// obey does what keys say, until one of them quits.
func (v *view) obey(keys io.Reader, quit func()) {
	key := make([]byte, 1)
	for {
		if _, err := keys.Read(key); err != nil || errors.Is(v.press(key[0]), errQuit) {
			quit()
			return
		}
	}
}

// press does what a key says, to the selected replica.
func (v *view) press(key byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failed = v.act(key)
	return v.failed
}

func (v *view) act(key byte) error {
	replica := v.replicas[v.selected]
	switch key {
	case '1', '2', '3':
		v.selected = int(key - '1')
	case 'k':
		return replica.kill()
	case 'p':
		return replica.pause()
	case 's':
		return replica.stop()
	case 'r':
		return replica.start()
	case 'q', 3: // Ctrl-C, as the terminal sends no signal for it now
		return errQuit
	}
	return nil
}
