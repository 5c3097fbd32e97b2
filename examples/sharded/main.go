// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	appName  = "sharded" // the group of the replicas, and the label of the ConfigMaps
	appLabel = "app"
	slots    = 32
)

type options struct {
	kubeconfig    string
	server        string // URL
	namespace     string
	sharding      bool // the feature gate of the embedded server
	configMaps    int
	changes       float64 // a second
	leaseDuration time.Duration
	duration      time.Duration // zero: until a signal
}

func main() {
	run := runReplicas
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "replica" {
		run, args = runReplica, args[1:]
	}
	if err := run(args); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "sharded:", err)
		os.Exit(1)
	}
}

// parseFlags parses the flags of the program, and those that add defines.
func parseFlags(args []string, add func(*flag.FlagSet)) (options, error) {
	var o options
	flags := flag.NewFlagSet("sharded", flag.ContinueOnError)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster; without it, the program starts an API server of its own")
	flags.StringVar(&o.server, "server", "", "URL of an API server without authentication")
	flags.StringVar(&o.namespace, "namespace", appName, "Namespace of the ConfigMaps and Leases; it is created if it does not exist")
	flags.BoolVar(&o.sharding, "sharding", true, "switch on the feature gate ShardedListAndWatch of the program's own API server")
	flags.IntVar(&o.configMaps, "configmaps", 2000, "number of ConfigMaps")
	flags.Float64Var(&o.changes, "changes", 5, "changes of ConfigMaps a second")
	flags.DurationVar(&o.leaseDuration, "lease-duration", 5*time.Second, "time after which the slots of a replica that has failed are taken (package shard's default is 15s)")
	flags.DurationVar(&o.duration, "for", 0, "run for this long, such as 20s; zero runs until Ctrl-C")
	add(flags)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.configMaps < 1 || o.changes <= 0 {
		return o, errors.New("-configmaps and -changes must be positive")
	}
	return o, nil
}

// clientConfig returns the configuration of clients of the API server.
func (o options) clientConfig() (*rest.Config, error) {
	if o.server != "" {
		return &rest.Config{Host: o.server}, nil
	}
	return clientcmd.BuildConfigFromFlags("", o.kubeconfig)
}

// runReplicas runs the ConfigMaps' changes and three replicas, and shows the replicas.
func runReplicas(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parseFlags(args, func(*flag.FlagSet) {})
	if err != nil {
		return err
	}
	stopServer, err := o.startServer()
	if err != nil {
		return err
	}
	defer stopServer()
	config, err := o.clientConfig()
	if err != nil {
		return err
	}
	data, err := newCollection(config, o)
	if err != nil {
		return err
	}
	if o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}
	return data.whileChanging(ctx, o.showReplicas)
}
