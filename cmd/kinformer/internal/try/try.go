// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package try is the command that runs a program's own tests on client-go's informers and on
// kinformer's.
//
// options.go parses the command line. program.go reads the program's packages and modules, and
// returns an error for those that cannot be tried. workspace.go makes the temporary folder that a
// test binary is compiled with: a go.mod that requires kinformer, and the files of overlay.go.
// These make client-go's constructors call a variable, which the test binary sets if the
// environment selects kinformer, so both sides run the same binary. execution.go runs a binary
// once, trial.go runs it on both sides and compares the results, report.go prints each of them as
// soon as it is known. Package adopt edits a copy of the program in memory: it finds which
// informers stream, and adoption.go builds the binaries of the copy.
package try

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/adopt"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/pullrequest"
)

// Run runs the command.
func Run(ctx context.Context, args []string, streams command.Streams) error {
	if len(args) == 0 {
		return &command.UsageError{Help: Help}
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	_, cost, err := pullrequest.Read("", o.cost)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "kinformer-try-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // the system removes temporary files that are left
	p, err := readProgram(ctx, filepath.Join(folder, "program"), o.patterns, args)
	if err != nil {
		return err
	}
	flags, limit, err := testFlags(o.run, p.goFlags)
	if err != nil {
		return err
	}
	w, err := newWorkspace(ctx, p, folder, o)
	if err != nil {
		return err
	}
	result := &report{Kinformer: w.kinformer, Upgraded: w.upgraded}
	preview, err := adopt.FindPreview(ctx, streams.Err, w.source, o.packed, o.patterns, p.modFile)
	switch {
	case errors.Is(err, adopt.ErrPackedNotCopied):
		return err
	case err != nil: // such as a file that does not parse
		fmt.Fprintf(streams.Err, "find the informers that stream: %v\n", err)
	default:
		result.Streaming = preview.Streaming
		result.text = &pullrequest.Text{Lines: preview.Lines, Modules: w.changedModules(), Cost: cost, Packed: o.packed}
	}
	newTrial := func(pkg testPackage) *trial {
		return &trial{workspace: w, pkg: pkg, flags: flags, limit: limit, progress: func(step string) {
			fmt.Fprintf(streams.Err, "%s: %s\n", pkg.name(p.path), step)
		}}
	}
	printer := result.begin(o.output, streams.Out, p)
	err = tryEach(ctx, p, newTrial, printer)
	if err == nil {
		err = w.conclude(ctx, streams.Err, preview, o.patterns, result)
	}
	return errors.Join(printer.end(), err)
}

// conclude adds to a report what else the text for a pull request has, if there is one, and returns
// the error of the command.
func (w *workspace) conclude(ctx context.Context, progress io.Writer, preview *adopt.Preview, patterns []string, result *report) error {
	if result.isForPullRequest() {
		if err := w.measureAdoption(ctx, progress, preview.Edited, patterns, result); err != nil {
			return err
		}
	}
	return result.err()
}

// tryEach tries each package of a program, and prints it once both sides have run.
func tryEach(ctx context.Context, p *program, newTrial func(testPackage) *trial, printer *printer) error {
	for i, pkg := range p.packages {
		if !pkg.hasCache {
			printer.add(packageResult{Package: pkg.name(p.path), Result: notTried, Reason: notLinked})
			continue
		}
		compared, err := newTrial(pkg).compare(ctx)
		if err != nil {
			printer.report.NotRun = len(p.packages) - i
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
		compared.Package = pkg.name(p.path)
		printer.add(compared)
	}
	return nil
}
