// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/gomod"
	"github.com/kinformer/kinformer/internal/units"
)

// requirement is the kinformer that the program requires.
type requirement struct {
	dir     string // its source
	replace string // what go.mod replaces the module by, or empty
	version string // to add to go.mod, or empty
}

// findKinformer returns what go.mod requires already or, if it does not, the options or the version
// of this command. scratch is a folder for temporary files.
func findKinformer(ctx context.Context, p *program, o *options, scratch string) (requirement, error) {
	file, err := gomod.Read(ctx, filepath.Join(p.root, "go.mod"))
	if err != nil {
		return requirement{}, err
	}
	required := file.Version(gomod.Kinformer)
	if o.kinformer != "" {
		dir, err := filepath.Abs(o.kinformer)
		if err != nil {
			return requirement{}, err
		}
		if _, err := os.Stat(filepath.Join(dir, "clientgo")); err != nil {
			return requirement{}, fmt.Errorf("read --kinformer: %w", err)
		}
		target := dir
		if !filepath.IsAbs(o.kinformer) { // relative to go.mod, too
			if target, err = filepath.Rel(p.root, dir); err != nil {
				return requirement{}, err
			}
			if target = filepath.ToSlash(target); !strings.HasPrefix(target, "../") {
				target = "./" + target
			}
		}
		r := requirement{dir: dir, replace: target}
		if required == "" {
			r.version = gomod.AnyVersion
		}
		return r, nil
	}
	out, err := gomod.Go(ctx, "list", "-mod=readonly", "-m", "-json", gomod.Kinformer)
	switch {
	case err == nil:
		dir, err := readModule(ctx, scratch, out)
		return requirement{dir: dir}, err
	case required != "":
		return requirement{}, err
	}
	own, err := gomod.OwnVersion()
	if err != nil {
		return requirement{}, err
	}
	dir, err := download(ctx, scratch, gomod.Kinformer, own)
	return requirement{dir: dir, version: own}, err
}

// readModule returns the folder of a module that go list has printed. The module may not be in the
// module cache yet.
func readModule(ctx context.Context, scratch string, out []byte) (dir string, err error) {
	var module struct {
		Dir string
		gomod.Module
		Replace *gomod.Module
	}
	if err := json.Unmarshal(out, &module); err != nil {
		return "", fmt.Errorf("read go list: %w", err)
	}
	switch {
	case module.Dir != "":
		return module.Dir, nil
	case module.Replace != nil:
		return download(ctx, scratch, module.Replace.Path, module.Replace.Version)
	}
	return download(ctx, scratch, module.Path, module.Version)
}

// download downloads a module and returns its folder. It runs in the folder scratch, which is in no
// module, as the go command would write the go.sum of one.
func download(ctx context.Context, scratch, path, version string) (dir string, err error) {
	out, err := gomod.Go(ctx, "mod", "download", "-C", scratch, "-json", path+"@"+version)
	var module struct{ Dir, Error string }
	switch failure := json.Unmarshal(out, &module); {
	case module.Error != "":
		return "", fmt.Errorf("go mod download: %s", module.Error)
	case err != nil:
		return "", err
	case failure != nil:
		return "", fmt.Errorf("read go mod download: %w", failure)
	}
	return module.Dir, nil
}

// require writes a go.mod and a go.sum into a folder, which are those of the program and what its
// packages need after the edits. overlay is a file for the flag -overlay with the edited files, and
// packages are those of these files. tests reports whether tests may be among them. It returns a
// message about the versions that it raised, or "".
func (r requirement) require(ctx context.Context, p *program, folder, overlay string, packages []string, tests bool) (raised string, err error) {
	for _, name := range moduleFiles() {
		content, err := os.ReadFile(filepath.Join(p.root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := errors.Join(err, os.WriteFile(filepath.Join(folder, name), content, 0o600)); err != nil {
			return "", err
		}
	}
	modfile := filepath.Join(folder, "go.mod")
	if r.replace != "" {
		if _, err := gomod.Go(ctx, "mod", "edit", "-replace="+gomod.Kinformer+"="+r.replace, modfile); err != nil {
			return "", err
		}
	}
	if raised, err = r.raiseClientGo(ctx, modfile); err != nil {
		return "", err
	}
	isRequired := r.version == ""
	if r.replace == "" && !isRequired { // which raises client-go, so that nothing would be older afterwards
		_, err := gomod.GoShowing(ctx, p.progress, "get", "-modfile="+modfile, gomod.Kinformer+"@"+r.version)
		isRequired = err == nil
	}
	err = r.complete(ctx, p, modfile, overlay, packages, tests)
	if err == nil || isRequired || ctx.Err() != nil {
		return raised, err
	}
	// Another module that cannot be downloaded keeps the go command from finding kinformer.
	if _, err := gomod.Go(ctx, "mod", "edit", "-require="+gomod.Kinformer+"@"+r.version, modfile); err != nil {
		return "", err
	}
	return raised, r.complete(ctx, p, modfile, overlay, packages, tests)
}

// complete adds to a go.mod what the edited packages need, and no more. go mod tidy would need the
// tests of dependencies. What cannot be downloaded and has nothing to do with kinformer is left.
func (r requirement) complete(ctx context.Context, p *program, modfile, overlay string, packages []string, tests bool) error {
	fmt.Fprintf(p.progress, "list the imports of %s\n", units.Plural(int64(len(packages)), "edited package"))
	const format = "{{with .Error}}{{$.ImportPath}}\t{{.}}{{end}}"
	out, err := gomod.GoShowing(ctx, p.progress, slices.Concat([]string{
		"list", "-e", "-deps", fmt.Sprintf("-test=%v", tests), "-f", format, "-mod=mod", "-modfile=" + modfile, "-overlay=" + overlay, "--",
	}, packages)...)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		if path, failure, _ := strings.Cut(strings.TrimSpace(line), "\t"); strings.HasPrefix(path, gomod.Kinformer) {
			return fmt.Errorf("list %s: %s", path, failure)
		}
	}
	return nil
}

// moduleFiles returns the files that state what a module requires.
func moduleFiles() []string { return []string{"go.mod", "go.sum"} }

// raiseClientGo raises client-go to the version that kinformer needs, and what does not compile
// with it otherwise: the modules that are released together with it, if the program has all in one
// version, and controller-runtime. It returns a message, or "".
func (r requirement) raiseClientGo(ctx context.Context, modfile string) (raised string, err error) {
	file, err := gomod.Read(ctx, modfile)
	if err != nil {
		return "", err
	}
	own, err := gomod.Read(ctx, filepath.Join(r.dir, "go.mod"))
	if err != nil {
		return "", err
	}
	now, oldest := file.Version(gomod.ClientGo), own.Version(gomod.ClientGo)
	for _, replaced := range file.Replace {
		if replaced.Old.Path == gomod.ClientGo && gomod.IsOlder(replaced.New.Version, oldest) {
			return "", fmt.Errorf("replace k8s.io/client-go by %[1]s: kinformer needs %[2]s; in go.mod replace the modules of Kubernetes by their versions of Kubernetes %[2]s, or remove the replace directives",
				replaced.New.Version, oldest)
		}
	}
	if !gomod.IsOlder(now, oldest) {
		return "", nil
	}
	edit := []string{"mod", "edit"}
	for _, required := range file.Require {
		if required.Version == now && strings.HasPrefix(required.Path, "k8s.io/") {
			edit = append(edit, "-require="+required.Path+"@"+oldest)
		}
		if fitting := runtimeFor(oldest); required.Path == runtimePath && gomod.IsOlder(required.Version, fitting) {
			edit = append(edit, "-require="+required.Path+"@"+fitting)
		}
	}
	_, err = gomod.Go(ctx, append(edit, modfile)...)
	return fmt.Sprintf("%s is raised from %s to %s. Modules that do not compile with it have to be raised, too.", gomod.ClientGo, now, oldest), err
}

// runtimeFor returns the first version of controller-runtime for a version of client-go. Its minor
// version is 12 lower, see https://github.com/kubernetes-sigs/controller-runtime#compatibility.
func runtimeFor(clientGo string) string {
	v, err := version.ParseSemantic(clientGo)
	if err != nil || v.Minor() < 12 {
		return ""
	}
	return fmt.Sprintf("v0.%d.0", v.Minor()-12)
}
