// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/e2e/cluster"
)

func main() {
	var o options
	flag.IntVar(&o.pods, "pods", 20_000, "number of Pods, 20 per ReplicaSet")
	flag.IntVar(&o.changes, "changes", 10_000, "number of changes of Pods")
	flag.IntVar(&o.rounds, "rounds", 3, "number of measurements; the medians are printed")
	flag.StringVar(&o.programs, "programs", "controller-manager,scheduler", "programs to measure")
	flag.StringVar(&o.informers, "informers", "client-go,kinformer,kinformer-packed", "informers to measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		stop()
		os.Exit(1)
	}
}

type options struct {
	pods, changes, rounds int
	programs, informers   string
}

func (o *options) run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "kinformer-measure-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a leftover does no harm
	binary := filepath.Join(dir, "kubemanager")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/kinformer/kinformer/e2e/upstream/kubemanager")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the program: %w", err)
	}
	c, err := cluster.Start(ctx, cluster.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return err
	}
	began := time.Now()
	f := &contents{cluster: c, client: client}
	if err := f.fill(ctx, o.pods); err != nil {
		return fmt.Errorf("fill the cluster: %w", err)
	}
	fmt.Fprintf(os.Stderr, "%d Pods of %d bytes each in %s\n", o.pods, f.bytes/o.pods, time.Since(began).Round(time.Second))
	m := &measurement{binary: binary, dir: dir, config: c.Config(), contents: f, options: o}
	return m.measure(ctx)
}

// measure measures all programs and informers in turn, so that other load of the machine affects
// all alike, and prints the table.
func (m *measurement) measure(ctx context.Context) error {
	programs, informers := strings.Split(m.options.programs, ","), strings.Split(m.options.informers, ",")
	results := map[string][]figures{}
	for range m.options.rounds {
		for _, program := range programs {
			for _, kind := range informers {
				f, err := m.run(ctx, program, kind)
				if err != nil {
					return fmt.Errorf("%s on %s: %w", program, kind, err)
				}
				fmt.Fprintln(os.Stderr, program, kind, f)
				results[program+kind] = append(results[program+kind], f)
			}
		}
	}
	fmt.Printf("| %d Pods | informers | CPU to sync | peak RSS | CPU per change | RSS after %d changes |\n|---|---|---|---|---|---|\n",
		m.options.pods, m.options.changes)
	for _, program := range programs {
		for _, kind := range informers {
			fmt.Printf("| %s | %s | %s |\n", program, kind, medians(results[program+kind]))
		}
	}
	return nil
}
