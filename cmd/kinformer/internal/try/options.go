// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
)

// options are the parsed command line.
type options struct {
	patterns   []string // of packages, as for go test
	run        string
	kinformer  string // absolute path of kinformer's source, or "" for the command's version
	packed     bool
	omitFields []string
	output     string
	cost       string // a file with the output of that command, or ""
}

// parse parses the command line. It returns pflag.ErrHelp for --help.
func parse(args []string) (*options, error) {
	o := &options{}
	flags := pflag.NewFlagSet("try", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.run, "run", "", "")
	flags.StringVar(&o.kinformer, "kinformer", "", "")
	flags.BoolVar(&o.packed, "packed", false, "")
	flags.StringSliceVar(&o.omitFields, "omit-fields", nil, "")
	flags.StringVar(&o.cost, "cost", "", "")
	flags.StringVarP(&o.output, "output", "o", "table", "")
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return nil, err
	case err != nil:
		return nil, usage("%v", err)
	}
	o.patterns = flags.Args()
	return o, o.check()
}

func (o *options) check() (err error) {
	switch {
	case len(o.patterns) == 0:
		return usage("name packages, such as ./...")
	case slices.ContainsFunc(o.patterns, func(pattern string) bool { return strings.HasSuffix(pattern, ".go") }):
		return usage("name packages such as ./..., not files: %s", strings.Join(o.patterns, " "))
	case o.output != "table" && o.output != "json":
		return usage("--output must be table or json, not %q", o.output)
	case o.kinformer != "":
		o.kinformer, err = filepath.Abs(o.kinformer)
	}
	return err
}

func usage(format string, args ...any) error {
	return &command.UsageError{Message: fmt.Sprintf(format, args...) + "; see kinformer try --help"}
}
