// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench compares kinformer with client-go and prints the figures, and the ratios and goals
// as a Markdown table.
//
//	go run .                                        # all groups except apiserver, million, small, scopes and sharding
//	go run . -only apiserver -write ..              # also writes docs/benchmarks/rows.md, docs/benchmarks.md and the figures
//	go run . -row get-by-key -rounds 2
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/rows"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == child.Arg {
		exit(child.Main(os.Args[2:], os.Stdout))
		return
	}
	exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the command's flags.
type options struct {
	only   string
	row    string
	rounds int
	write  string

	cpuProfile string
}

// defaultRounds gives both sides several rounds without other load on the machine. The default
// groups take half an hour.
const defaultRounds = 10

// run measures the rows that the arguments select. A missed goal is not an error.
func run(args []string, out, progress io.Writer) error {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.StringVar(&o.only, "only", "",
		"measure only this group of rows: "+strings.Join(rows.Groups(), ", ")+"; the default is all except "+strings.Join(onRequest(), ", "))
	flags.StringVar(&o.row, "row", "", "measure only rows whose name or measurement contains this, such as get-by-key")
	flags.IntVar(&o.rounds, "rounds", defaultRounds, "number of measurements of each side; some rows have fewer")
	flags.StringVar(&o.write, "write", "", "also write the figures below this directory, the root of the repository")
	flags.StringVar(&o.cpuProfile, "cpuprofile", "", "write a CPU profile of this process to this file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	experiments, err := o.experiments(rows.FullScale())
	if err != nil {
		return err
	}
	klog.SetOutput(progress) // client-go's log
	stop, err := harness.StartCPUProfile(o.cpuProfile)
	if err != nil {
		return err
	}
	results, conditions, err := measure(experiments, o.rounds, progress)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	summary := conditions + "\n\n" + harness.Summary(results) + "\n"
	err = harness.WriteCSV(out, results, harness.Machine())
	fmt.Fprint(out, "\n", summary)
	if err != nil || o.write == "" {
		return err
	}
	return write(o.write, o.section(), results, summary)
}

// all is the section of the groups that are measured by default.
const all = "all"

// section returns the name of the table's section in docs/benchmarks/rows.md.
func (o options) section() string { return cmp.Or(o.only, all) }

// onRequest returns the groups with tables of their own. Two of them need a build of Kubernetes, or
// gigabytes of memory.
func onRequest() []string {
	return []string{rows.Partial, rows.APIServer, rows.Million, rows.Small, rows.Scopes, rows.Sharding}
}

// groupsOf returns the groups of a section.
func groupsOf(section string) []string {
	if section != all {
		return []string{section}
	}
	return slices.DeleteFunc(rows.Groups(), func(name string) bool { return slices.Contains(onRequest(), name) })
}

func (o options) experiments(scale rows.Scale) ([]harness.Experiment, error) {
	if o.only != "" && !slices.Contains(rows.Groups(), o.only) {
		return nil, fmt.Errorf("unknown group %q; the groups are %s", o.only, strings.Join(rows.Groups(), ", "))
	}
	if o.rounds < 1 {
		return nil, fmt.Errorf("-rounds %d: must be at least 1", o.rounds)
	}
	if o.row != "" && o.write != "" {
		return nil, errors.New("-write needs all rows of a group: omit -row")
	}
	experiments := slices.DeleteFunc(rows.In(scale, groupsOf(o.section())...), func(e harness.Experiment) bool { return !o.selects(e) })
	if len(experiments) == 0 {
		return nil, fmt.Errorf("no row matches %q", o.row)
	}
	return experiments, nil
}

// selects reports whether -row matches an experiment or one of its metrics.
func (o options) selects(e harness.Experiment) bool {
	return strings.Contains(e.Row+" "+e.Setup, o.row) || slices.ContainsFunc(e.Metrics, func(m harness.Metric) bool {
		return strings.Contains(m.Row+" "+m.Name, o.row)
	})
}

// measure runs the experiments one after the other. It also returns their conditions.
func measure(experiments []harness.Experiment, rounds int, progress io.Writer) (results []harness.Result, conditions string, err error) {
	start, before := time.Now(), harness.Conditions()
	for i, e := range experiments {
		fmt.Fprintf(progress, "%s %d/%d %s: %s\n", time.Since(start).Round(time.Second), i+1, len(experiments), e.Row, e.Setup)
		result, err := harness.Run(e, rounds)
		if err != nil {
			return nil, "", err
		}
		results = append(results, result)
	}
	return results, fmt.Sprintf("%s before, %s after; took %v.", before, harness.Load(), time.Since(start).Round(time.Second)), nil
}
