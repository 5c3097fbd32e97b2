// Command bench measures kinformer beside client-go in one process and prints the
// figures, their ratio and the goal of each row of the design as a Markdown table.
//
//	go run . -only store
package main

import (
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

	cpuProfile string
}

// group is a set of rows that can be asked for alone.
type group struct {
	name string
	rows func(rows.Scale) []harness.Experiment
}

func groups() []group { return []group{{"store", rows.Store}, {"sync", rows.Sync}} }

// run measures what the arguments ask for. That a goal is missed is no error.
func run(args []string, out, progress io.Writer) error {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.StringVar(&o.only, "only", "", "measure this group of rows alone: "+strings.Join(groupNames(), ", "))
	flags.StringVar(&o.row, "row", "", "measure only rows of which the name and situation contain this, such as P5")
	flags.IntVar(&o.rounds, "rounds", 5, "measure each side so many times")
	flags.StringVar(&o.cpuProfile, "cpuprofile", "", "write a CPU profile of all that is measured to this file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	experiments, err := o.experiments(rows.FullScale())
	if err != nil {
		return err
	}
	klog.SetOutput(progress) // client-go's remarks
	stop, err := harness.Profile(o.cpuProfile)
	if err != nil {
		return err
	}
	return errors.Join(measure(experiments, o.rounds, out, progress), stop())
}

func groupNames() (names []string) {
	for _, g := range groups() {
		names = append(names, g.name)
	}
	return names
}

func (o options) experiments(scale rows.Scale) ([]harness.Experiment, error) {
	if o.only != "" && !slices.Contains(groupNames(), o.only) {
		return nil, fmt.Errorf("there is no group %q; there are: %s", o.only, strings.Join(groupNames(), ", "))
	}
	if o.rounds < 1 {
		return nil, fmt.Errorf("-rounds is %d; at least one round is needed", o.rounds)
	}
	var experiments []harness.Experiment
	for _, g := range groups() {
		if o.only == "" || g.name == o.only {
			experiments = append(experiments, g.rows(scale)...)
		}
	}
	experiments = slices.DeleteFunc(experiments, func(e harness.Experiment) bool {
		return !strings.Contains(e.Name+" "+e.What, o.row)
	})
	if len(experiments) == 0 {
		return nil, fmt.Errorf("no row is called %q", o.row)
	}
	return experiments, nil
}

// measure runs the experiments one after the other and prints the table.
func measure(experiments []harness.Experiment, rounds int, out, progress io.Writer) error {
	start := time.Now()
	conditions := harness.Conditions()
	var results []harness.Result
	for i, e := range experiments {
		fmt.Fprintf(progress, "%d/%d %s: %s\n", i+1, len(experiments), e.Name, e.What)
		result, err := harness.Run(e, rounds)
		if err != nil {
			return err
		}
		results = append(results, result)
	}
	fmt.Fprintf(out, "%s before, %s after. Medians of %d rounds (least–greatest); ratio is kinformer / the column beside it. Took %v.\n\n",
		conditions, harness.Load(), rounds, time.Since(start).Round(time.Second))
	return harness.WriteTable(out, results)
}
