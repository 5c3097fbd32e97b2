// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command measure compares prometheus' Kubernetes discovery on client-go with the same discovery on
// package clientgo, and prints a Markdown table. It builds a program of each, and runs each in a
// process of its own against a server of Pods in this process, over plain HTTP, in turns.
//
//	go run ./prometheus/measure -write ../../docs/benchmarks/rows.md
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/podserver"
	"github.com/kinformer/kinformer/e2e/adopters/prometheus"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

// podsPerWorkload is the size of the workloads in most rows of the other benchmarks.
const podsPerWorkload dataset.PodsPerWorkload = 20

// scale is the size of the measurement.
type scale struct{ pods, updates, rounds int }

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	var s scale
	flags := flag.NewFlagSet("measure", flag.ContinueOnError)
	flags.IntVar(&s.pods, "pods", 20_000, "number of Pods")
	flags.IntVar(&s.updates, "updates", 5_000, "number of updates, each of another Pod")
	flags.IntVar(&s.rounds, "rounds", 3, "number of measurements of each program")
	write := flags.String("write", "", "also write the table to its section of this Markdown file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.rounds < 1 || s.updates > s.pods {
		return errors.New("-rounds must be at least 1, and -updates at most -pods")
	}
	folder, err := os.MkdirTemp("", "kinformer-adopters-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	programs, err := build(ctx, folder)
	if err != nil {
		return err
	}
	conditions := harness.Conditions() // after the builds
	result, err := harness.Run(s.experiment(ctx, programs, folder), s.rounds)
	if err != nil {
		return err
	}
	var table bytes.Buffer
	fmt.Fprintf(&table, "%s before, %s after; medians of %d rounds.\n\n", conditions, harness.Load(), s.rounds)
	writeTable(&table, s, programs, result)
	if _, err := out.Write(table.Bytes()); err != nil || *write == "" {
		return err
	}
	return harness.ReplaceSection(*write, "adopters", table.String())
}

// program is a build of the discovery.
type program struct {
	name, path string
	diff       prometheus.Diff
}

func build(ctx context.Context, folder string) (programs []program, err error) {
	for i, v := range prometheus.Variants() {
		own := filepath.Join(folder, strconv.Itoa(i))
		if err := os.Mkdir(own, 0o700); err != nil {
			return nil, err
		}
		path, diff, err := prometheus.Build(ctx, v, own)
		if err != nil {
			return nil, err
		}
		programs = append(programs, program{v.Name, path, diff})
	}
	return programs, nil
}

func (s scale) experiment(ctx context.Context, programs []program, folder string) harness.Experiment {
	e := harness.Experiment{
		Row: "adopters", Setup: "prometheus' discovery of Pods",
		Metrics: []harness.Metric{
			{Name: "peak RSS above idle until synced", Unit: "MB"}, {Name: "heap", Unit: "MB"},
			{Name: "CPU until synced", Unit: "s"}, {Name: "CPU of updates", Unit: "s"},
			{Name: "allocations of an update"},
		},
	}
	for _, p := range programs {
		e.Sides = append(e.Sides, p.name)
	}
	e.Prepare = func() (measures []harness.Measure, err error) {
		pods, err := podserver.Pods(podsPerWorkload, s.pods)
		for _, p := range programs {
			measures = append(measures, func() ([]float64, error) { return s.measure(ctx, p, pods, folder) })
		}
		return measures, err
	}
	return e
}

// measure runs a program against a server of its own.
func (s scale) measure(ctx context.Context, p program, pods *dataset.Encoded, folder string) ([]float64, error) {
	server, err := podserver.Start(pods)
	if err != nil {
		return nil, err
	}
	defer func() { _ = server.Close() }() // the program has ended
	kubeconfig, err := prometheus.WriteKubeconfig(&rest.Config{Host: server.URL()}, folder)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, p.path, "-kubeconfig", kubeconfig, "-measure", server.URL(),
		"-pods", strconv.Itoa(s.pods), "-updates", strconv.Itoa(s.updates))
	command.Env = append(os.Environ(), "KUBE_FEATURE_WatchListClient=false") // as in the other benchmarks
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, err
	}
	var cost struct{ PeakRSS, Heap, SyncCPU, UpdatesCPU, UpdateAllocs float64 }
	err = json.Unmarshal(output, &cost)
	return []float64{cost.PeakRSS / 1e6, cost.Heap / 1e6, cost.SyncCPU, cost.UpdatesCPU, cost.UpdateAllocs}, err
}

func writeTable(out io.Writer, s scale, programs []program, result harness.Result) {
	fmt.Fprintf(out, "| %d Pods | lines changed | peak RSS above idle until synced | heap afterwards | CPU until synced | CPU of %d updates | allocations of each |\n", s.pods, s.updates)
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|")
	for side, p := range programs {
		fmt.Fprintf(out, "| %s | %v | %s MB | %s MB | %s s | %s s | %s |\n", p.name, p.diff,
			spread(result, 0, side, "%.0f"), spread(result, 1, side, "%.0f"), spread(result, 2, side, "%.2f"), spread(result, 3, side, "%.2f"), spread(result, 4, side, "%.0f"))
	}
	fmt.Fprintln(out)
}

// spread formats the median of a metric, with the minimum and the maximum.
func spread(r harness.Result, metric, side int, format string) string {
	figures := r.Samples[metric][side]
	return fmt.Sprintf(format+" ("+format+"–"+format+")", r.Median(metric, side), slices.Min(figures), slices.Max(figures))
}
