// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
)

// Help describes the command.
const Help = `kinformer watch shows the objects of a resource as they change, in kubectl's columns.

Usage: kinformer watch RESOURCE [flags]        (pods, deploy, nodes, widgets.example.com, deployments.v1.apps)

On a terminal it draws a table, again when it changes. Elsewhere it prints a line for each event, and a summary every five
seconds. It makes one list and one watch, which accept a Table, the columns and cells of the server. Times in cells are as
of the object's last change, but for the age.

Objects:
  -n, --namespace NAME     this namespace instead of the context's
  -A, --all-namespaces     all namespaces
  -l, --selector SELECTOR  objects with these labels, such as app=web
      --field-selector S   objects with these fields, such as status.phase=Running

Output:
  -o, --output wide        also the columns that kubectl shows with -o wide
      --once               print the table when all objects are listed, and exit

Cluster, as for kubectl:
      --kubeconfig FILE, --context NAME, --cluster, --user, --server, --token and so on

The exit code is 0 after --once or Ctrl-C, 1 after an error and 2 for an invalid command line.
`

// options are the parsed command line.
type options struct {
	cluster       cluster.Flags
	resource      string
	allNamespaces bool
	labels        string
	fields        string
	output        string
	once          bool
}

// parse parses the command line. It returns pflag.ErrHelp for --help.
func parse(args []string) (*options, error) {
	o := &options{}
	flags := pflag.NewFlagSet("watch", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "")
	flags.StringVarP(&o.labels, "selector", "l", "", "")
	flags.StringVar(&o.fields, "field-selector", "", "")
	flags.StringVarP(&o.output, "output", "o", "", "")
	flags.BoolVar(&o.once, "once", false, "")
	o.cluster.Bind(flags)
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return nil, err
	case err != nil:
		return nil, usage("%v", err)
	case flags.NArg() != 1:
		return nil, usage("name one resource, such as pods, not %d", flags.NArg())
	}
	o.resource = flags.Arg(0)
	return o, o.check()
}

func (o *options) check() error {
	if _, err := labels.Parse(o.labels); err != nil {
		return usage("--selector: %v", err)
	}
	if _, err := fields.ParseSelector(o.fields); err != nil {
		return usage("--field-selector: %v", err)
	}
	switch {
	case o.output != "" && o.output != "wide":
		return usage("--output must be wide, not %q", o.output)
	case o.allNamespaces && o.cluster.Namespace() != "":
		return usage("--namespace or --all-namespaces, not both")
	}
	return nil
}

func usage(format string, args ...any) error {
	return &command.UsageError{Message: fmt.Sprintf(format, args...) + "; see kinformer watch --help"}
}
