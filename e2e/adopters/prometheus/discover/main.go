// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command discover runs prometheus' Kubernetes discovery of Pods and writes each target group that
// it receives as a line of JSON, until its standard input ends.
//
//	discover -kubeconfig FILE
//	discover -kubeconfig FILE -measure URL -pods 20000 -updates 5000
//
// With -measure, it writes instead what the discovery has cost, in JSON; see package measure.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/kubernetes"
	"github.com/prometheus/prometheus/discovery/targetgroup"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "discover:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var job measurement
	flags := flag.NewFlagSet("discover", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig file of the cluster")
	flags.StringVar(&job.url, "measure", "", "URL of the podserver to measure with")
	flags.IntVar(&job.pods, "pods", 0, "number of Pods on the podserver")
	flags.IntVar(&job.updates, "updates", 0, "number of updates to request from the podserver")
	if err := flags.Parse(args); err != nil {
		return err
	}
	discoverer, err := newDiscoverer(*kubeconfig)
	if err != nil {
		return err
	}
	if job.url != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		return job.do(ctx, discoverer, os.Stdout)
	}
	return printGroups(discoverer, os.Stdin, os.Stdout)
}

// newDiscoverer returns prometheus' discovery of Pods, with the configuration defaults of a
// kubernetes_sd_config.
func newDiscoverer(kubeconfig string) (discovery.Discoverer, error) {
	config := kubernetes.DefaultSDConfig
	config.Role = kubernetes.RolePod
	config.KubeConfig = kubeconfig
	registry := prometheus.NewRegistry()
	metrics := config.NewDiscovererMetrics(registry, discovery.NewRefreshMetrics(registry))
	discoverer, err := config.NewDiscoverer(discovery.DiscovererOptions{
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), Metrics: metrics,
	})
	return discoverer, errors.Join(err, metrics.Register())
}

// start runs a discovery until ctx ends.
func start(ctx context.Context, discoverer discovery.Discoverer) (groups chan []*targetgroup.Group, stopped chan struct{}) {
	groups, stopped = make(chan []*targetgroup.Group), make(chan struct{})
	go func() {
		defer close(stopped)
		discoverer.Run(ctx, groups)
	}()
	return groups, stopped
}

// group is a line of the program's output.
type group struct {
	Source  string
	Targets []model.LabelSet
	Labels  model.LabelSet
}

// printGroups runs a discovery until in ends.
func printGroups(discoverer discovery.Discoverer, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, in) // an error ends the program, too
	}()
	groups, stopped := start(ctx, discoverer)
	for encoder := json.NewEncoder(out); ; {
		select {
		case <-stopped:
			return nil
		case received := <-groups:
			for _, g := range received {
				if err := encoder.Encode(group{g.Source, g.Targets, g.Labels}); err != nil {
					return err
				}
			}
		}
	}
}
