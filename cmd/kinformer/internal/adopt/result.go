// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/gomod"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/pullrequest"
	"github.com/kinformer/kinformer/internal/units"
)

// result is what the command changes. It is prepared in a folder for temporary files, which has the
// files before and after, below a and b.
type result struct {
	program   *program
	scratch   string
	options   *options
	streams   command.Streams
	adopter   *adopter
	streaming *Streaming
	raised    string // a message about versions in go.mod, or empty
	changed   []changedFile
	text      pullrequest.Text
}

// changedFile is a file before and after.
type changedFile struct {
	name          string // relative to the folder of go.mod, without symbolic links
	before, after []byte
}

// finish shows the result, asks, and writes it.
func (r *result) finish(ctx context.Context, required requirement) error {
	if err := r.prepare(ctx, required); err != nil {
		return err
	}
	diff, err := r.diff(ctx)
	if err != nil {
		return err
	}
	if _, err := r.streams.Out.Write(diff); err != nil {
		return err
	}
	r.printNotes()
	if r.raised != "" {
		fmt.Fprintln(r.streams.Err, r.raised)
	}
	r.streaming.Print(r.streams.Err)
	r.printOffers()
	switch {
	case len(r.changed) == 0:
		fmt.Fprintln(r.streams.Err, "Nothing to rewrite.")
		return nil
	case r.options.diff:
		return r.printText(ctx)
	case !r.options.yes:
		question := fmt.Sprintf("Write %s?", units.Plural(int64(len(r.changed)), "file"))
		if err := command.Confirm(ctx, r.streams, question, "nothing was written"); err != nil {
			return err
		}
	}
	if err := r.write(); err != nil {
		return err
	}
	return r.printText(ctx)
}

// prepare computes the changed files, and go.mod and go.sum.
func (r *result) prepare(ctx context.Context, required requirement) error {
	replaced, packages, err := r.addSources()
	if err != nil {
		return err
	}
	if len(r.changed) == 0 {
		return nil
	}
	slices.SortFunc(r.changed, func(a, b changedFile) int { return cmp.Compare(a.name, b.name) })
	content, err := json.Marshal(map[string]any{"Replace": replaced})
	if err := errors.Join(err, os.WriteFile(r.overlay(), content, 0o600)); err != nil {
		return err
	}
	if r.raised, err = required.require(ctx, r.program, r.scratch, r.overlay(), packages, r.options.tests); err != nil {
		return err
	}
	for _, name := range moduleFiles() {
		before, err := os.ReadFile(filepath.Join(r.program.root, name))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		after, err2 := os.ReadFile(filepath.Join(r.scratch, name))
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if bytes.Equal(before, after) {
			continue
		}
		target, err := r.program.resolve(name)
		if err != nil {
			return err
		}
		if err := r.add(changedFile{target, before, after}); err != nil {
			return err
		}
	}
	r.text.Modules, err = r.changedModules(ctx)
	return err
}

// changedModules returns the modules whose versions in go.mod change.
func (r *result) changedModules(ctx context.Context) (all []pullrequest.Module, err error) {
	before, err := gomod.Read(ctx, filepath.Join(r.program.root, "go.mod"))
	if err != nil {
		return nil, err
	}
	after, err := gomod.Read(ctx, filepath.Join(r.scratch, "go.mod"))
	if err != nil {
		return nil, err
	}
	for _, m := range after.Require {
		if was := before.Version(m.Path); was != m.Version {
			all = append(all, pullrequest.Module{Path: m.Path, Before: was, After: m.Version})
		}
	}
	return all, nil
}

// addSources adds the sources that have edits. It returns the paths of the results by those of the
// sources, and the import paths of their packages. A file that is several sources, by symbolic
// links, must have the same edits in each.
func (r *result) addSources() (replaced map[string]string, packages []string, err error) {
	replaced = map[string]string{}
	results := map[string]changedFile{} // of all sources, by path without symbolic links
	for _, p := range r.program.packages {
		for _, s := range p.sources {
			text, err := s.result()
			if err != nil {
				return nil, nil, err
			}
			other, again := results[s.target]
			if again && !bytes.Equal(other.after, text) {
				return nil, nil, fmt.Errorf("edit %s: it is the same file as %s, which needs other edits", s.name, other.name)
			}
			results[s.target] = changedFile{s.name, s.text, text}
			if len(s.edits) == 0 {
				continue
			}
			name, err := r.program.resolve(s.name)
			if err != nil {
				return nil, nil, err
			}
			if !slices.Contains(packages, p.listed.ImportPath) {
				packages = append(packages, p.listed.ImportPath)
			}
			replaced[s.path] = filepath.Join(r.scratch, "b", filepath.FromSlash(name))
			if again {
				continue
			}
			if err := r.add(changedFile{name, s.text, text}); err != nil {
				return nil, nil, err
			}
			r.text.Lines.Add(s.text, text)
		}
	}
	return replaced, packages, nil
}

// add adds a file, and writes it before and after.
func (r *result) add(f changedFile) error {
	r.changed = append(r.changed, f)
	for side, content := range map[string][]byte{"a": f.before, "b": f.after} {
		path := filepath.Join(r.scratch, side, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// diff returns the unified diff, without that of go.sum.
func (r *result) diff(ctx context.Context) (all []byte, err error) {
	for _, f := range r.changed {
		if path.Base(f.name) == "go.sum" {
			continue
		}
		diff := exec.CommandContext(ctx, "git", "diff", "--no-index", "--no-prefix", "--no-color", "--no-ext-diff", "a/"+f.name, "b/"+f.name)
		diff.Dir = r.scratch
		diff.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		var failure bytes.Buffer
		diff.Stderr = &failure
		out, err := diff.Output()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) { // 1 is a difference
			return nil, fmt.Errorf("git diff: %w: %s", err, failure.Bytes())
		}
		if start := bytes.Index(out, []byte("--- a/")); start >= 0 { // without git's own lines
			out = out[start:]
		}
		all = append(all, out...)
	}
	return all, nil
}

// printNotes prints the edits to make by hand.
func (r *result) printNotes() {
	if left := r.adopter.testsLeft; len(left) > 0 {
		fmt.Fprintf(r.streams.Err, "Left alone: %s with informers, such as %s; --tests edits them, too.\n\n", units.Plural(int64(len(left)), "test file"), left[0])
	}
	if len(r.adopter.notes) == 0 {
		return
	}
	fmt.Fprintln(r.streams.Err, "Not rewritten:")
	for _, n := range r.adopter.notes {
		fmt.Fprintf(r.streams.Err, "%s:%d: %s\n", n.file, n.line, n.what)
		for _, line := range n.write {
			fmt.Fprintf(r.streams.Err, "\t%s\n", line)
		}
	}
	fmt.Fprintln(r.streams.Err)
}

// printOffers prints which options would write more.
func (r *result) printOffers() {
	a, out := r.adopter, r.streams.Err
	if len(a.configs) > 0 && !r.options.streaming {
		fmt.Fprintf(out, "--streaming writes cache.EnableStreaming where a config is made: %s\n", strings.Join(a.configs, ", "))
	}
	if len(a.otherConfigs) > 0 {
		fmt.Fprintf(out, "call cache.EnableStreaming by hand for configs that are not assigned and checked: %s\n", strings.Join(a.otherConfigs, ", "))
	}
	for _, reason := range a.suggestPacked(r.text.Cost) {
		fmt.Fprintf(out, "--packed writes the option Packed: %s\n", reason)
	}
}

// write writes the files, unless one was changed, or replaced by a link, since it was read.
func (r *result) write() error {
	for _, f := range r.changed {
		if name, err := r.program.resolve(f.name); err != nil || name != f.name {
			return cmp.Or(err, fmt.Errorf("write %s: it is a symbolic link to %s now; nothing was written", f.name, name))
		}
		now, err := os.ReadFile(r.path(f))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !bytes.Equal(now, f.before) {
			return fmt.Errorf("write %s: it was changed meanwhile; nothing was written", f.name)
		}
	}
	for _, f := range r.changed {
		if err := os.WriteFile(r.path(f), f.after, 0o644); err != nil { //nolint:gosec // as other files of a program
			return err
		}
	}
	fmt.Fprintf(r.streams.Err, "%s written. Next: go mod tidy && %sgo vet ./... && go test ./...\n", units.Plural(int64(len(r.changed)), "file"), r.vendor())
	return nil
}

// printText prints the text for the pull request. It lacks the vendored files if they cannot be
// counted.
func (r *result) printText(ctx context.Context) (err error) {
	r.text.Vendored, err = pullrequest.CountVendored(ctx, r.streams.Err, r.program.root, r.scratch, "-modfile="+filepath.Join(r.scratch, "go.mod"), "-overlay="+r.overlay())
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(r.streams.Err, "count the vendored files: %v\n", err)
	}
	r.text.Print(r.streams.Err)
	return context.Cause(ctx)
}

// overlay returns the path of the file for -overlay, which has the edited sources.
func (r *result) overlay() string { return filepath.Join(r.scratch, "overlay.json") }

// vendor returns the command that updates a vendor folder, if there is one.
func (r *result) vendor() string {
	if _, err := os.Stat(filepath.Join(r.program.root, "vendor", "modules.txt")); err != nil {
		return ""
	}
	return "go mod vendor && "
}

func (r *result) path(f changedFile) string {
	return filepath.Join(r.program.root, filepath.FromSlash(f.name))
}
