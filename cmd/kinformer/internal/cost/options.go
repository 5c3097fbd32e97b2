// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
)

// options are the parsed command line.
type options struct {
	cluster   cluster.Flags
	resources []string // as given
	all       bool
	secrets   bool
	yes       bool
	large     bool
	qps       float64
	output    string
}

// flags returns the flags, bound to the options.
func (o *options) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("cost", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&o.all, "all", false, "")
	flags.BoolVar(&o.secrets, "secrets", false, "")
	flags.BoolVarP(&o.yes, "yes", "y", false, "")
	flags.BoolVar(&o.large, "large", false, "")
	flags.Float64Var(&o.qps, "qps", 5, "")
	flags.StringVarP(&o.output, "output", "o", "table", "")
	o.cluster.Bind(flags)
	return flags
}

// parse parses the command line. It returns pflag.ErrHelp for --help.
func parse(args []string) (*options, error) {
	o := &options{}
	flags := o.flags()
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return nil, err
	case err != nil:
		return nil, usage("%v", err)
	}
	for _, arg := range flags.Args() {
		o.resources = append(o.resources, strings.FieldsFunc(arg, func(r rune) bool { return r == ',' })...)
	}
	return o, o.check()
}

func (o *options) check() error {
	switch {
	case len(o.resources) == 0 && !o.all:
		return usage("name resources, or --all")
	case len(o.resources) > 0 && o.all:
		return usage("name resources or --all, not both")
	case !(o.qps > 0) || math.IsInf(o.qps, 0):
		return usage("--qps must be positive")
	case o.output != "table" && o.output != "json":
		return usage("--output must be table or json, not %q", o.output)
	}
	return nil
}

func usage(format string, args ...any) error {
	return &command.UsageError{Message: fmt.Sprintf(format, args...) + "; see kinformer cost --help"}
}
