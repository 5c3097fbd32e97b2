// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
)

// options are the parsed command line.
type options struct {
	patterns  []string // of packages
	yes       bool
	diff      bool
	tests     bool   // edit them, too
	packed    bool   // write the option Packed
	streaming bool   // write the lines that stream
	try, cost string // files with the output of these commands, or empty
	kinformer string // the folder that replaces the released module, or empty
}

// flags returns the flags, bound to the options.
func (o *options) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("adopt", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVarP(&o.yes, "yes", "y", false, "")
	flags.BoolVar(&o.diff, "diff", false, "")
	flags.BoolVar(&o.packed, "packed", false, "")
	flags.BoolVar(&o.streaming, "streaming", false, "")
	flags.StringVar(&o.try, "try", "", "")
	flags.StringVar(&o.cost, "cost", "", "")
	flags.BoolVar(&o.tests, "tests", false, "")
	flags.StringVar(&o.kinformer, "kinformer", "", "")
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
	o.patterns = flags.Args()
	switch {
	case len(o.patterns) == 0:
		return nil, usage("name packages, such as ./...")
	case o.yes && o.diff:
		return nil, usage("give --yes or --diff, not both")
	}
	return o, nil
}

func usage(format string, args ...any) error {
	return &command.UsageError{Message: fmt.Sprintf(format, args...) + "; see kinformer adopt --help"}
}
