// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

// shutdownTimeout is the maximum time between a signal and the end of the process. Without it, a
// blocked write to standard output would keep the process running.
const shutdownTimeout = time.Second

func main() {
	silenceKlog()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // a second Ctrl-C ends the process immediately
		time.AfterFunc(shutdownTimeout, func() { os.Exit(1) })
	})
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// silenceKlog discards klog's output, because log lines of client-go and the informer would disrupt
// the table. The views show errors from the informer's Status instead. A program without such a
// view should keep klog's output, or pass the informer a logger with klog.NewContext.
func silenceKlog() {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := flags.Set(name, value); err != nil {
			panic(err)
		}
	}
	klog.SetOutput(io.Discard)
}
