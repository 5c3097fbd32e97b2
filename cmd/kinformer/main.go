// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/measure"
)

// shutdownTimeout is the maximum time between a signal and the end of the process. Without it, a
// blocked write to standard output would keep the process running. The programs that a command runs
// end before it, and the command removes its temporary files.
const shutdownTimeout = command.StopTimeout + 2*time.Second

func main() {
	if slices.Equal(os.Args[1:], []string{measure.ChildArg}) {
		runChild()
		return
	}
	klog.SetLogger(logr.Discard()) // the commands report errors themselves
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // a second Ctrl-C ends the process immediately
		time.AfterFunc(shutdownTimeout, func() { os.Exit(1) })
	})
	os.Exit(run(ctx, os.Args[1:], command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// runChild is the main function of the child processes that kinformer cost starts. They handle no
// signals: an interrupt ends them at once.
func runChild() {
	if err := measure.Child(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
