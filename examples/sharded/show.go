// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
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
	selected   int
	out        io.Writer
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
		fmt.Fprintf(v.out, "%s  %s\n%s\n", time.Now().Format(time.TimeOnly), v.title, v.table(-1).text())
	}
	return nil
}

const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // the alternate screen, no cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	clearScreen = "\x1b[H\x1b[J"
	help        = "1-3 select, k kill, p pause or continue, s stop, r start, q quit"
)

// onTerminal draws the table four times a second, and obeys keys.
func (v *view) onTerminal(ctx context.Context, in *os.File) error {
	normal, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return err
	}
	fmt.Fprint(v.out, enterScreen)
	defer func() {
		fmt.Fprint(v.out, leaveScreen)
		_ = term.Restore(int(in.Fd()), normal)
		fmt.Fprintf(v.out, "%s\n%s", v.title, v.table(-1).text())
	}()
	keys := make(chan byte)
	go readKeys(ctx, in, keys)
	return v.loop(ctx, keys)
}

// readKeys sends the bytes of in, until ctx ends.
func readKeys(ctx context.Context, in io.Reader, keys chan<- byte) {
	key := make([]byte, 1)
	for {
		if _, err := in.Read(key); err != nil {
			return
		}
		select {
		case keys <- key[0]:
		case <-ctx.Done():
			return
		}
	}
}

var errQuit = errors.New("quit")

// loop draws after each key, and at least four times a second.
func (v *view) loop(ctx context.Context, keys <-chan byte) error {
	ticker := time.NewTicker(time.Second / 4)
	defer ticker.Stop()
	var failed error
	for {
		v.draw(failed)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case key := <-keys:
			if failed = v.press(key); errors.Is(failed, errQuit) {
				return nil
			}
		}
	}
}

// draw draws the table, and the error of the last key.
func (v *view) draw(failed error) {
	text := v.title + "\n\n" + v.table(v.selected).text() + "\n" + help + "\n"
	if failed != nil {
		text += failed.Error() + "\n"
	}
	fmt.Fprint(v.out, clearScreen+strings.ReplaceAll(text, "\n", "\r\n"))
}

// press does what a key says, to the selected replica.
func (v *view) press(key byte) error {
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
