// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package adopt is the command that makes a program use package clientgo.
//
// program.go lists the packages of the program and follows symbolic links, and source.go parses the
// files. Each way in which programs make informers has a file that edits the sources, or lists a
// note with what to write: clientgo.go the packages of client-go, generated.go and factory.go those
// of code-generator, manager.go controller-runtime, and knative.go injection. requirement.go adds
// kinformer to go.mod, and result.go shows and writes the result.
package adopt

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/gomod"
)

// clientgoPath is the import path of package clientgo.
const clientgoPath = gomod.Kinformer + "/clientgo"

// Run runs the command in the current directory.
func Run(ctx context.Context, args []string, streams command.Streams) error {
	if len(args) == 0 {
		return &command.UsageError{Help: Help}
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("git"); err != nil {
		return fmt.Errorf("find git, which makes the diff: %w", err)
	}
	scratch, err := os.MkdirTemp("", "kinformer-adopt-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // temporary files
	p, err := load(ctx, o.patterns)
	if err != nil {
		return err
	}
	required, err := findKinformer(ctx, p, o, scratch)
	if err != nil {
		return err
	}
	a := &adopter{program: p, injected: map[string]bool{}}
	if a.dropIns, err = readDropIns(required.dir); err != nil {
		return err
	}
	if err := a.adopt(); err != nil {
		return err
	}
	r := &result{program: p, scratch: scratch, options: o, streams: streams, notes: a.notes}
	return r.finish(ctx, required)
}

// adopter edits the sources of a program.
type adopter struct {
	program  *program
	dropIns  map[string]*dropIn // by import path of client-go
	notes    []note
	injected map[string]bool // clientsets of injected informers that have a note
}

// note is an edit to make by hand.
type note struct {
	file  string // relative to the folder of go.mod
	line  int
	what  string
	write []string // lines of Go
}

func (a *adopter) adopt() error {
	for _, p := range a.program.packages {
		if err := a.parse(p); err != nil {
			return err
		}
	}
	for _, p := range a.program.packages {
		a.adoptClientGo(p)
		for _, s := range p.sources {
			a.adoptInformerFor(s)
			if s.generated {
				continue
			}
			a.adoptInformerFuncs(s)
			a.adoptFactories(s)
			a.adoptManagers(s)
			a.noteInjection(s)
		}
	}
	slices.SortStableFunc(a.notes, func(x, y note) int {
		return cmp.Or(cmp.Compare(x.file, y.file), cmp.Compare(x.line, y.line))
	})
	return nil
}

// note adds a note for a node of a source.
func (a *adopter) note(s *source, at node, what string, write ...string) {
	a.notes = append(a.notes, note{s.name, s.line(at.Pos()), what, write})
}
