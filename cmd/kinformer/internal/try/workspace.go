// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/gomod"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/pullrequest"
)

// workspace compiles the tests of a program with kinformer, without a change of its folder.
type workspace struct {
	folder   string
	program  *program
	flags    []string // of the go command
	upgraded []upgrade
	// kinformer is the version of kinformer, or what replaces it.
	kinformer string
	source    string // the folder of kinformer's source
	// clientGo is the version of client-go, or "" if the program replaces it by a folder.
	clientGo string
	// adopted is the folder of a go.mod that requires kinformer, and has the program's client-go.
	adopted string
}

// upgrade is a module whose version kinformer's requirements change.
type upgrade struct {
	Module string `json:"module"`
	From   string `json:"from"`
	To     string `json:"to"`
}

// newWorkspace writes go.mod, go.sum and the overlay into a folder.
func newWorkspace(ctx context.Context, p *program, folder string, o *options) (*workspace, error) {
	goMod := filepath.Join(folder, "go.mod")
	w := &workspace{folder: folder, program: p, flags: []string{"-mod=mod", "-modfile=" + goMod}, adopted: filepath.Join(folder, "adopted")}
	if err := copyModule(p.goMod, folder); err != nil {
		return nil, err
	}
	if err := require(ctx, goMod, o.kinformer); err != nil {
		return nil, err
	}
	minimum, err := w.readKinformer(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.checkClientGo(minimum); err != nil {
		return nil, err
	}
	if err := copyModule(goMod, w.adopted); err != nil {
		return nil, err
	}
	original, copied, err := w.replaceClientGo(ctx, goMod)
	if err != nil {
		return nil, err
	}
	overlay, err := writeOverlay(folder, p, original, copied, o)
	if err != nil {
		return nil, err
	}
	w.flags = append(w.flags, "-overlay="+overlay)
	return w, w.listUpgrades(ctx, o.patterns)
}

// replaceClientGo makes a go.mod take client-go from another folder, and returns both folders. The
// other one does not exist, but has the same path in each run, so that the build cache has its
// packages the next time.
func (w *workspace) replaceClientGo(ctx context.Context, goMod string) (original, copied string, err error) {
	const format = "{{.Version}}\n{{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}\n{{.Dir}}\n"
	out, err := gomod.Go(ctx, slices.Concat([]string{"list", "-m", "-f", format}, w.flags, []string{clientGo})...)
	if err != nil {
		return "", "", err
	}
	lines := strings.Split(string(out), "\n")
	selected, original := lines[0], lines[2]
	w.clientGo = lines[1]
	if out, err = gomod.Go(ctx, "env", "GOMODCACHE"); err != nil {
		return "", "", err
	}
	copied = filepath.Join(strings.TrimSpace(string(out))+"-kinformer-try", clientGo+"@"+selected)
	_, err = gomod.Go(ctx, "mod", "edit", "-replace="+clientGo+"@"+selected+"="+copied, goMod)
	return original, copied, err
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}

// copyModule copies a go.mod into a folder, and the go.sum beside it. A module without requirements
// has none.
func copyModule(goMod, folder string) error {
	if err := errors.Join(os.MkdirAll(folder, 0o700), copyFile(goMod, filepath.Join(folder, "go.mod"))); err != nil {
		return err
	}
	err := copyFile(strings.TrimSuffix(goMod, ".mod")+".sum", filepath.Join(folder, "go.sum"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// require makes a go.mod require kinformer: a folder, or the command's own version. A higher
// version and a replacement that the program has remain.
func require(ctx context.Context, goMod, source string) error {
	file, err := gomod.Read(ctx, goMod)
	if err != nil {
		return err
	}
	required := file.Version(library)
	edits := []string{"mod", "edit"}
	switch own, err := gomod.OwnVersion(); {
	case source != "":
		edits = append(edits, "-require="+library+"@"+cmp.Or(required, gomod.AnyVersion), "-replace="+library+"="+source)
	case required == "" && err != nil:
		return err
	case err == nil && (required == "" || gomod.IsOlder(required, own)):
		edits = append(edits, "-require="+library+"@"+own)
	default:
		return nil
	}
	_, err = gomod.Go(ctx, append(edits, goMod)...)
	return err
}

// readKinformer reads the version of kinformer, and returns the version of client-go that it
// requires.
func (w *workspace) readKinformer(ctx context.Context) (minimum string, err error) {
	const format = "{{with .Module}}{{.Dir}}\n{{with .Replace}}{{.Path}}{{with .Version}}@{{.}}{{end}}{{else}}{{.Version}}{{end}}{{end}}"
	out, err := gomod.Go(ctx, slices.Concat([]string{"list", "-find", "-f", format}, w.flags, []string{library + "/clientgo"})...)
	if err != nil {
		return "", err
	}
	w.source, w.kinformer, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	goMod := filepath.Join(w.source, "go.mod")
	file, err := gomod.Read(ctx, goMod)
	if err != nil {
		return "", err
	}
	if minimum = file.Version(clientGo); minimum == "" {
		return "", fmt.Errorf("%s does not require %s", goMod, clientGo)
	}
	return minimum, nil
}

// listUpgrades compares the modules that the tests are compiled from with the program's own.
func (w *workspace) listUpgrades(ctx context.Context, patterns []string) error {
	_, modules, err := listPackages(ctx, patterns, w.flags...)
	if err != nil {
		return err
	}
	modules[clientGo] = module{version: w.clientGo}
	for path, before := range w.program.modules {
		if after, ok := modules[path]; ok && path != library && after.version != before.version {
			w.upgraded = append(w.upgraded, upgrade{path, before.version, after.version})
		}
	}
	slices.SortFunc(w.upgraded, func(a, b upgrade) int { return strings.Compare(a.Module, b.Module) })
	return nil
}

// changedModules returns the modules that go.mod requires, or requires in another version, because
// of kinformer.
func (w *workspace) changedModules() []pullrequest.Module {
	all := []pullrequest.Module{{Path: library, Before: w.program.modules[library].version, After: w.kinformer}}
	for _, m := range w.upgraded {
		all = append(all, pullrequest.Module{Path: m.Module, Before: m.From, After: m.To})
	}
	return all
}

// errBroken reports that a package's tests do not compile, with the program's own go.mod either.
var errBroken = errors.New("does not compile without kinformer either")

// compile compiles the test binary of a package, in place of the last one, and returns its path.
func (w *workspace) compile(ctx context.Context, pkg testPackage) (string, error) {
	binary := filepath.Join(w.folder, "package.test.exe") // as Windows wants it
	// vet reads the folders of packages, which do not have the files of the overlay.
	args := []string{"test", "-c", "-vet=off", "-o", binary}
	_, err := goBuild(ctx, w.folder, slices.Concat(args, w.flags, []string{pkg.path})...)
	if err == nil || ctx.Err() != nil {
		return binary, err
	}
	if _, own := goBuild(ctx, w.folder, append(args, w.program.modFile, pkg.path)...); own != nil {
		return "", errBroken
	}
	return "", err
}
