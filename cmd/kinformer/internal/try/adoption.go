// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/gomod"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/pullrequest"
)

// adoption is the program as kinformer adopt would edit it.
type adoption struct {
	program  *program
	folder   string   // for temporary files
	flags    []string // of the go command: go.mod and the edited sources
	progress io.Writer
}

// measureAdoption adds the vendored files and the binaries to a report. edited are the sources that
// change, by path. It returns an error if ctx ends or it cannot write the overlay; it prints those
// of the go command, and the report lacks what they concern.
func (w *workspace) measureAdoption(ctx context.Context, progress io.Writer, edited map[string][]byte, patterns []string, result *report) (err error) {
	v := &overlay{folder: w.adopted, replace: map[string]string{}}
	for path, content := range edited {
		v.add(path, content)
	}
	path, err := v.write()
	if err != nil {
		return err
	}
	a := &adoption{program: w.program, folder: w.adopted, flags: []string{"-modfile=" + filepath.Join(w.adopted, "go.mod"), "-overlay=" + path}, progress: progress}
	if result.Vendored, err = pullrequest.CountVendored(ctx, progress, filepath.Dir(w.program.goMod), a.folder, a.flags...); err != nil && ctx.Err() == nil {
		fmt.Fprintf(progress, "count the vendored files: %v\n", err)
	}
	if result.Binaries, err = a.measureBinaries(ctx, patterns); err != nil && ctx.Err() == nil {
		fmt.Fprintf(progress, "list the main packages: %v\n", err)
	}
	return context.Cause(ctx)
}

// mainFormat prints the main packages that contain kinformer.
const mainFormat = `{{if eq .Name "main"}}{{range .Deps}}{{if eq . "` + library + `/cache"}}{{$.ImportPath}}{{end}}{{end}}{{end}}`

// measureBinaries builds each main package that contains kinformer without and with the edits. If
// ctx ends, it returns those that are known.
func (a *adoption) measureBinaries(ctx context.Context, patterns []string) (all []pullrequest.Binary, err error) {
	after := append([]string{"-mod=mod"}, a.flags...)
	out, err := gomod.Go(ctx, slices.Concat([]string{"list", "-f", mainFormat}, after, []string{"--"}, patterns)...)
	if err != nil {
		return nil, err
	}
	for path := range strings.FieldsSeq(string(out)) {
		b := pullrequest.Binary{Package: testPackage{path: path}.name(a.program.path)}
		b.BeforeBytes = a.build(ctx, b.Package, clientGoSide, a.program.modFile, path)
		if b.BeforeBytes > 0 {
			b.AfterBytes = a.build(ctx, b.Package, kinformer, append(after, path)...)
		}
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		all = append(all, b)
	}
	return all, nil
}

// build builds the binary of a package, and returns its size, or 0 with the error as a line of the
// progress.
func (a *adoption) build(ctx context.Context, name string, s side, args ...string) int64 {
	fmt.Fprintf(a.progress, "%s: build on %s\n", name, s)
	binary := filepath.Join(a.folder, "program")
	// Git is not asked, since it refuses folders of other users. GOFLAGS may have -race for the
	// tests.
	_, err := goBuild(ctx, a.folder, append([]string{"build", "-trimpath", "-buildvcs=false", "-race=false", "-o", binary}, args...)...)
	if err == nil {
		var built os.FileInfo
		if built, err = os.Stat(binary); err == nil {
			return built.Size()
		}
	}
	if ctx.Err() == nil {
		fmt.Fprintf(a.progress, "%s: not built on %s: %v\n", name, s, err)
	}
	return 0
}
