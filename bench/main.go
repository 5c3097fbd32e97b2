// Command bench measures kinformer beside client-go in one process and prints the
// figures, their ratio and the goal of each row of the design as a Markdown table.
//
//	go run .                                        # everything but what needs a kube-apiserver
//	go run . -only apiserver -write ../docs/benchmarks.md
//	go run . -row P6 -rounds 5
package main

import (
	"bytes"
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

// defaultRounds keeps a run of everything within a quarter of an hour.
const defaultRounds = 3

// run measures what the arguments ask for. That a goal is missed is no error.
func run(args []string, out, progress io.Writer) error {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.StringVar(&o.only, "only", "", "measure this group of rows alone: "+strings.Join(rows.Groups(), ", ")+"; without it, all but "+rows.Million+" and "+rows.APIServer)
	flags.StringVar(&o.row, "row", "", "measure only rows of which the name and situation contain this, such as P5")
	flags.IntVar(&o.rounds, "rounds", defaultRounds, "measure each side so many times")
	flags.StringVar(&o.write, "write", "", "write the table into this Markdown file, too, where it has a place for it")
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
	var table bytes.Buffer
	if err := errors.Join(measure(experiments, o.rounds, &table, progress), stop()); err != nil {
		return err
	}
	if _, err := out.Write(table.Bytes()); err != nil || o.write == "" {
		return err
	}
	return harness.Document(o.write, o.place(), table.String())
}

// place is what the table's place in a file is called.
func (o options) place() string { return cmp.Or(o.only, "all") }

// groups are those to be measured. What needs Kubernetes to be built, or most of the
// machine's memory, is measured only when it is asked for.
func (o options) groups() []string {
	if o.only != "" {
		return []string{o.only}
	}
	return slices.DeleteFunc(rows.Groups(), func(name string) bool { return name == rows.APIServer || name == rows.Million })
}

func (o options) experiments(scale rows.Scale) ([]harness.Experiment, error) {
	if o.only != "" && !slices.Contains(rows.Groups(), o.only) {
		return nil, fmt.Errorf("there is no group %q; there are: %s", o.only, strings.Join(rows.Groups(), ", "))
	}
	if o.rounds < 1 {
		return nil, fmt.Errorf("-rounds is %d; at least one round is needed", o.rounds)
	}
	experiments := slices.DeleteFunc(rows.In(scale, o.groups()...), func(e harness.Experiment) bool { return !o.asksFor(e) })
	if len(experiments) == 0 {
		return nil, fmt.Errorf("no row is called %q", o.row)
	}
	return experiments, nil
}

// asksFor tells whether an experiment, or one of its metrics, is called as -row says.
func (o options) asksFor(e harness.Experiment) bool {
	called := strings.Contains(e.Name+" "+e.What, o.row)
	for _, metric := range e.Metrics {
		called = called || strings.Contains(metric.Name+" "+metric.What, o.row)
	}
	return called
}

// measure runs the experiments one after the other and prints the table.
func measure(experiments []harness.Experiment, rounds int, out, progress io.Writer) error {
	start := time.Now()
	conditions := harness.Conditions()
	var results []harness.Result
	for i, e := range experiments {
		fmt.Fprintf(progress, "%s %d/%d %s: %s\n", time.Since(start).Round(time.Second), i+1, len(experiments), e.Name, e.What)
		result, err := harness.Run(e, rounds)
		if err != nil {
			return err
		}
		results = append(results, result)
	}
	fmt.Fprintf(out, "%s before, %s after. Medians of %d rounds (least–greatest); ratio is ours / the column beside it. Took %v.\n\n",
		conditions, harness.Load(), rounds, time.Since(start).Round(time.Second))
	return harness.WriteTable(out, results)
}
