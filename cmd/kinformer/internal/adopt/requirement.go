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
	"runtime/debug"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// requirement is the kinformer that the program requires.
type requirement struct {
	dir     string // its source
	replace bool   // whether go.mod replaces the module by dir
	version string // to add to go.mod, or empty
}

// findKinformer returns what go.mod requires already or, if it does not, the options or the version
// of this command.
func findKinformer(ctx context.Context, p *program, o *options) (requirement, error) {
	if o.kinformer != "" {
		dir, err := filepath.Abs(o.kinformer)
		if err != nil {
			return requirement{}, err
		}
		if _, err := os.Stat(filepath.Join(dir, "clientgo")); err != nil {
			return requirement{}, fmt.Errorf("read --kinformer: %w", err)
		}
		return requirement{dir: dir, replace: true}, nil
	}
	required := requirement{}
	if out, err := goCommand(ctx, "list", "-mod=readonly", "-m", "-json", modulePath); err == nil {
		var module struct{ Dir string }
		if err := json.Unmarshal(out, &module); err != nil {
			return required, fmt.Errorf("read go list: %w", err)
		}
		if required.dir = module.Dir; required.dir != "" {
			return required, nil
		}
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return required, errors.New("find kinformer: this command was built without a version; give --kinformer DIR, the folder of a clone")
	}
	required.version = info.Main.Version
	out, err := goCommand(ctx, "mod", "download", "-json", modulePath+"@"+required.version)
	if err != nil {
		return required, err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return required, fmt.Errorf("read go mod download: %w", err)
	}
	required.dir = module.Dir
	return required, nil
}

// require writes a go.mod and a go.sum into a folder, which are those of the program and what its
// changed files need. overlay is a file for the flag -overlay with the changed files.
func (r requirement) require(ctx context.Context, p *program, folder, overlay string) error {
	for _, name := range moduleFiles() {
		content, err := os.ReadFile(filepath.Join(p.root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := errors.Join(err, os.WriteFile(filepath.Join(folder, name), content, 0o600)); err != nil {
			return err
		}
	}
	modfile := filepath.Join(folder, "go.mod")
	var err error
	switch {
	case r.replace:
		_, err = goCommand(ctx, "mod", "edit", "-replace="+modulePath+"="+r.dir, modfile)
	case r.version != "":
		_, err = goCommand(ctx, "get", "-modfile="+modfile, modulePath+"@"+r.version)
	}
	if err != nil {
		return err
	}
	if _, err := goCommand(ctx, "mod", "tidy", "-modfile="+modfile, "-overlay="+overlay); err != nil {
		return err
	}
	return r.checkClientGo(ctx, modfile)
}

// moduleFiles returns the files that state what a module requires.
func moduleFiles() []string { return []string{"go.mod", "go.sum"} }

// checkClientGo checks that the program does not replace client-go by a version that is too old.
func (r requirement) checkClientGo(ctx context.Context, modfile string) error {
	const clientGo = "k8s.io/client-go"
	used, err := moduleVersion(ctx, "-modfile="+modfile, clientGo)
	if err != nil {
		return err
	}
	oldest, err := moduleVersion(ctx, "-modfile="+filepath.Join(r.dir, "go.mod"), clientGo)
	if err != nil {
		return err
	}
	got, err := version.ParseSemantic(used)
	if err != nil {
		return nil //nolint:nilerr // a folder, whose version is not known
	}
	want, err := version.ParseSemantic(oldest)
	if err == nil && got.LessThan(want) {
		return fmt.Errorf("go.mod replaces %[1]s by %[2]s, and kinformer needs %[3]s: go mod edit -dropreplace=%[1]s, or -replace=%[1]s=%[1]s@%[3]s, and those of k8s.io/api and k8s.io/apimachinery",
			clientGo, used, oldest)
	}
	return nil
}

// moduleVersion returns the version of a module that is built, which may replace another.
func moduleVersion(ctx context.Context, modfile, path string) (string, error) {
	out, err := goCommand(ctx, "list", "-mod=readonly", modfile, "-m", "-f", "{{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}", path)
	return strings.TrimSpace(string(out)), err
}
