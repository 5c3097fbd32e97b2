// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/examples/internal/terminal"
)

type options struct {
	kubeconfig string
	nodes      int
	duration   time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file of a cluster; without it, the program starts an API server of its own")
	flag.IntVar(&o.nodes, "nodes", 20, "number of nodes of the program's own API server, at least 1")
	flag.DurationVar(&o.duration, "duration", 0, "how long to run, such as 10s; without it, until Ctrl-C")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "nodecache: unexpected argument %q: all options are flags, see nodecache -help\n", flag.Arg(0))
		os.Exit(2) // as for an unknown flag
	}
	// Lines of the log would disrupt the table, which shows errors itself. A program without a
	// table should keep the log, or pass the informer a logger with klog.NewContext.
	klog.SetLogger(klog.Logger{})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "nodecache:", err)
		os.Exit(1)
	}
}

// run shows the nodes until ctx ends.
func run(ctx context.Context, o options, out io.Writer) error {
	if o.nodes < 1 {
		return fmt.Errorf("invalid -nodes %d: want at least 1", o.nodes)
	}
	config, closeSource, err := o.config(ctx)
	if err != nil {
		return err
	}
	defer closeSource()
	cache.EnableStreaming(config) // optional: reads a list object by object, which saves memory
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	view := terminal.NewView(out, "nodes of "+config.Host)
	nodes := newNodeCache(client, view)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.duration > 0 {
		ctx, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}
	stopped := make(chan error, 1)
	go func() {
		stopped <- nodes.controller.Run(ctx)
		cancel()
	}()
	view.Run(ctx.Done(), nodes.state)
	err = <-stopped
	view.Finish(nodes.state())
	return err
}

// config returns the configuration of a cluster's client, and a function that stops the API server
// if it is the program's own.
func (o options) config(ctx context.Context) (*rest.Config, func(), error) {
	if o.kubeconfig == "" {
		return startSimulation(ctx, o.nodes)
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	return config, func() {}, err
}
