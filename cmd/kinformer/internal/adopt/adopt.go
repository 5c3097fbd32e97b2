// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package adopt is the command that makes a program use package clientgo.
//
// program.go lists the packages of the program and follows symbolic links, and source.go parses the
// files. Each way in which programs make informers has a file that edits the sources, or lists a
// note with what to write: clientgo.go the packages of client-go, generated.go and factory.go those
// of code-generator, manager.go controller-runtime, and knative.go injection. requirement.go adds
// kinformer to go.mod, and result.go shows and writes the result. site.go finds the call sites of
// informers, and streaming.go prints which of them stream. prepare.go and packed.go find where
// clients can be prepared for that, and whether informers may be packed. Of what the program
// imports, only packages that may be generated are loaded.
package adopt

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"slices"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/gomod"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/pullrequest"
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
	tests, cost, err := pullrequest.Read(o.try, o.cost)
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
	p, err := load(ctx, streams.Err, o.patterns)
	if err != nil {
		return err
	}
	required, err := findKinformer(ctx, p, o, scratch)
	if err != nil {
		return err
	}
	a, err := rewrite(ctx, p, required.dir, o)
	if err != nil {
		return err
	}
	r := &result{program: p, scratch: scratch, options: o, streams: streams, adopter: a, streaming: a.streaming(), text: pullrequest.Text{Tests: tests, Cost: cost, Packed: o.packed, TestsChange: o.tests}}
	return r.finish(ctx, required)
}

// adopter edits the sources of a program.
type adopter struct {
	program *program
	options *options
	dropIns map[string]*dropIn // by import path of client-go
	notes   []note
	// The tests that make informers and stay as they are.
	testsLeft []string
	injected  map[string]bool   // clientsets of injected informers that have a note
	adopted   map[ast.Node]bool // literals and declarations of options that have NewInformer now
	sites     []site
	prepared  bool // the program calls EnableStreaming
	// Where configs are made: those after which EnableStreaming can be inserted, and others.
	configs, otherConfigs []string
	packing               packing
	// The options of variables whose value is that of clientgo.With.
	constructors map[types.Object]ast.Expr
}

// note is an edit to make by hand.
type note struct {
	file  string // relative to the folder of go.mod
	line  int
	what  string
	write []string // lines of Go
}

// rewrite edits the sources of a program in memory. kinformer is the folder of kinformer's source.
func rewrite(ctx context.Context, p *program, kinformer string, o *options) (*adopter, error) {
	dropIns, err := readDropIns(kinformer)
	if err != nil {
		return nil, err
	}
	a := &adopter{program: p, options: o, dropIns: dropIns, injected: map[string]bool{}, adopted: map[ast.Node]bool{}, constructors: map[types.Object]ast.Expr{}}
	if err := a.read(ctx); err != nil {
		return nil, err
	}
	a.adopt()
	return a, a.checkPacking()
}

// read reads the sources of the program, and what their imports are.
func (a *adopter) read(ctx context.Context) error {
	candidates := map[string]bool{}
	for _, p := range a.program.packages {
		if err := a.parse(p); err != nil {
			return err
		}
		for _, s := range p.sources {
			for _, importPath := range s.candidates() {
				candidates[importPath] = true
			}
		}
	}
	missing, err := a.program.listImports(ctx, slices.Sorted(maps.Keys(candidates)))
	if err != nil {
		return err
	}
	for _, p := range a.program.packages {
		p.check(a.program)
		for _, s := range p.sources {
			for _, i := range s.imports {
				if reason := missing[i.path]; reason != "" {
					a.note(s, i.spec, "not loaded, so informers that the package makes are not found: "+reason)
				}
			}
		}
	}
	return nil
}

func (a *adopter) adopt() {
	for _, p := range a.program.packages {
		a.adoptClientGo(p)
		for _, s := range p.sources {
			a.findConstructors(s)
		}
		for _, s := range p.sources {
			if !a.isEdited(s) {
				if a.makesInformers(s) {
					a.testsLeft = append(a.testsLeft, s.name)
				}
				continue
			}
			a.addSites(s)
			a.findPacking(s)
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
	a.prepareClients()
	slices.SortStableFunc(a.notes, func(x, y note) int {
		return cmp.Or(cmp.Compare(x.file, y.file), cmp.Compare(x.line, y.line))
	})
}

// isEdited reports whether a source may be edited. Tests may be if the options say so.
func (a *adopter) isEdited(s *source) bool { return a.options.tests || !s.isTest() }

// makesInformers reports whether a source calls a function that makes an informer of client-go.
func (a *adopter) makesInformers(s *source) bool {
	return slices.ContainsFunc(s.imports, func(i *imported) bool {
		return slices.ContainsFunc(i.uses, func(use *ast.SelectorExpr) bool {
			if d := a.dropIns[i.path]; d != nil {
				c, ok := d.constructors[use.Sel.Name]
				return ok && !c.onlyStore
			}
			_, ok := optionPath(i.path, use.Sel.Name)
			return ok || (factoryFunc.MatchString(use.Sel.Name) || informerFunc.MatchString(use.Sel.Name)) && a.program.isGeneratedBy("informer-gen", i.path)
		})
	})
}

// note adds a note for a node of a source, which makes informers of client-go if there is anything
// to write.
func (a *adopter) note(s *source, at node, what string, write ...string) {
	if len(write) > 0 {
		a.addSite(s, at, needsEdit)
	}
	a.notes = append(a.notes, note{s.name, s.line(at.Pos()), what, write})
}
