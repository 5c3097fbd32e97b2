// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/signal"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/shard"
)

// runReplica runs one replica until standard input is closed, which happens when the program that
// has started it ends. It writes a report to standard output, in JSON, each second.
func runReplica(args []string) error {
	signal.Ignore(os.Interrupt) // Ctrl-C reaches all processes of the terminal; the first one decides
	var name string
	o, err := parseFlags(args, func(flags *flag.FlagSet) {
		flags.StringVar(&name, "name", "", "identity of the replica")
		klog.InitFlags(flags)
	})
	if err != nil {
		return err
	}
	config, err := o.clientConfig()
	if err != nil {
		return err
	}
	c, err := connectController(config, name, o)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is closed
		stop()
	}()
	return cache.RunAll(ctx, c.Run, func(ctx context.Context) error { return c.reportTo(ctx, os.Stdout) })
}

// connectController returns a controller with clients for config. The client of the Leases has its
// own limit on requests, so that renewals do not wait for the writes of the controller.
func connectController(config *rest.Config, name string, o options) (*controller, error) {
	cache.EnableStreaming(config)
	config.QPS, config.Burst = 200, 200
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 20, 2*slots
	leases, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	member, err := shard.New(leases.CoordinationV1().Leases(o.namespace), shard.Options{
		Group: appName, Identity: name, Slots: slots, LeaseDuration: o.leaseDuration,
	})
	if err != nil {
		return nil, err
	}
	return newController(client, o.namespace, member)
}

// report is what a replica says of itself.
type report struct {
	Incarnation string
	Transitions map[int]int32 // of the slots that the replica owns, by number
	Objects     int           // in its store
	Received    uint64        // bytes of ConfigMaps
	OutOfScope  uint64        // ConfigMaps of other slots that the open watch has passed over
	Stamped     uint64
	Conflicts   uint64
	Error       string
}

// reportTo writes a report each second until ctx ends.
func (c *controller) reportTo(ctx context.Context, out io.Writer) error {
	encoder := json.NewEncoder(out)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		if err := encoder.Encode(c.report()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (c *controller) report() report {
	member, informer := c.member.Status(), c.configMaps.Status()
	r := report{
		Incarnation: member.Incarnation,
		Transitions: make(map[int]int32),
		Objects:     informer.Store.Objects,
		Received:    informer.Requests.BytesRead,
		Stamped:     c.stamped.Load(),
		Conflicts:   c.conflicts.Load(),
	}
	for _, slot := range c.member.Slots() {
		r.Transitions[slot.Number] = slot.Transition
	}
	for _, scope := range c.configMaps.ScopeStatus() {
		r.OutOfScope = max(r.OutOfScope, scope.OutOfScope) // not the sum: scopes that share a watch have its number
	}
	for _, err := range []error{member.Err, informer.Err} {
		if err != nil {
			r.Error = err.Error()
		}
	}
	return r
}
