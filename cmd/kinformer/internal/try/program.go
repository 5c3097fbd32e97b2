// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/gomod"
)

const (
	clientGo = gomod.ClientGo
	library  = gomod.Kinformer
)

// program is the module in the working directory.
type program struct {
	path     string // of the module
	goMod    string // the file
	goFlags  string // GOFLAGS
	modFile  string // the flag for an unmodified copy of goMod: with -mod=mod, go list writes it
	packages []testPackage
	modules  map[string]module // that the tests are compiled from, by path
}

// testPackage is a package with tests.
type testPackage struct {
	path, packageName, dir string
	hasCache               bool // its test binary contains client-go's tools/cache
}

// name returns the name of the package relative to the module.
func (p testPackage) name(modulePath string) string {
	if rest, ok := strings.CutPrefix(p.path, modulePath); ok && (rest == "" || rest[0] == '/') {
		return "." + rest
	}
	return p.path
}

// module is a selected version of a module.
type module struct {
	version     string // of the replacement, if it is replaced; "" for a folder
	replacement string // the path that replaces it, or ""
	dir         string
}

// readProgram reads the packages that patterns select. It returns an error if no module can be
// added to the program, with the command that helps: args are those of this one. folder is for the
// copy of go.mod.
func readProgram(ctx context.Context, folder string, patterns, args []string) (*program, error) {
	out, err := gomod.Go(ctx, "env", "GOMOD", "GOWORK", "GOFLAGS")
	if err != nil {
		return nil, err
	}
	env := strings.Split(string(out), "\n")
	p := &program{goMod: strings.TrimSpace(env[0]), goFlags: strings.TrimSpace(env[2])}
	if err := checkEnvironment(p.goMod, strings.TrimSpace(env[1]), p.goFlags, args); err != nil {
		return nil, err
	}
	if err := copyModule(p.goMod, folder); err != nil {
		return nil, err
	}
	p.modFile = "-modfile=" + filepath.Join(folder, "go.mod")
	if out, err = gomod.Go(ctx, "list", "-m", p.modFile); err != nil {
		return nil, err
	}
	p.path = strings.TrimSpace(string(out))
	if p.path == library {
		return nil, fmt.Errorf("%s is kinformer itself", p.goMod)
	}
	if p.packages, p.modules, err = listPackages(ctx, patterns, p.modFile); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(p.packages, func(pkg testPackage) bool { return pkg.hasCache }) {
		return nil, fmt.Errorf("no test of these packages has informers: none contains %s/tools/cache", clientGo)
	}
	return p, nil
}

// checkEnvironment returns an error if the modules of the program are not those of its go.mod.
func checkEnvironment(goMod, goWork, goFlags string, args []string) error {
	words := []string{"kinformer", "try"}
	for _, arg := range args {
		if strings.ContainsAny(arg, " |()[]*?^$;&<>\"\\") {
			arg = "'" + arg + "'"
		}
		words = append(words, arg)
	}
	again := strings.Join(words, " ")
	if goMod == "" || goMod == os.DevNull {
		return errors.New("no go.mod in this folder or those above it")
	}
	if goWork != "" && goWork != "off" {
		return fmt.Errorf("the workspace %s is in force, to which kinformer cannot be added; to use the module's go.mod alone: GOWORK=off %s", goWork, again)
	}
	vendored := filepath.Join(filepath.Dir(goMod), "vendor", "modules.txt")
	if _, err := os.Stat(vendored); err == nil && !slices.Contains(strings.Fields(goFlags), "-mod=mod") {
		return fmt.Errorf("%s is in force, to which kinformer cannot be added; to use the modules of go.mod instead: GOFLAGS=%q %s",
			vendored, strings.TrimSpace(goFlags+" -mod=mod"), again)
	}
	return nil
}

// listFormat prints a line for each module, and one for each package that the patterns select.
const listFormat = `{{with .Module}}module	{{.Path}}	{{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}	{{with .Replace}}{{.Path}}{{end}}	{{.Dir}}
{{end}}{{if not .DepOnly}}package	{{.ImportPath}}	{{.Name}}	{{.Dir}}	{{range .Deps}}{{if eq . "` + clientGo + `/tools/cache"}}cache{{end}}{{end}}{{end}}`

// listPackages returns the packages with tests that patterns select, and the modules that these are
// compiled from.
func listPackages(ctx context.Context, patterns []string, flags ...string) ([]testPackage, map[string]module, error) {
	args := slices.Concat([]string{"list", "-deps", "-test", "-f", listFormat}, flags, []string{"--"}, patterns)
	out, err := gomod.Go(ctx, args...)
	if err != nil {
		return nil, nil, err
	}
	modules, listed := map[string]module{}, map[string]testPackage{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		switch f := strings.Split(lines.Text(), "\t"); f[0] {
		case "module":
			modules[f[1]] = module{version: f[2], replacement: f[3], dir: f[4]}
		case "package":
			listed[f[1]] = testPackage{path: f[1], packageName: f[2], dir: f[3], hasCache: f[4] != ""}
		}
	}
	var packages []testPackage
	for path, binary := range listed {
		if tested, ok := listed[strings.TrimSuffix(path, ".test")]; ok && strings.HasSuffix(path, ".test") {
			tested.hasCache = binary.hasCache
			packages = append(packages, tested)
		}
	}
	slices.SortFunc(packages, func(a, b testPackage) int { return strings.Compare(a.path, b.path) })
	return packages, modules, nil
}

// checkClientGo checks that kinformer works with the program's minor version of client-go. An
// older patch release is upgraded like other modules.
func (p *program) checkClientGo(minimum string) error {
	selected := p.modules[clientGo]
	has, err := version.ParseSemantic(selected.version)
	if err != nil { // a folder replaces it
		return nil //nolint:nilerr // the compiler finds what is missing in it
	}
	least, err := version.ParseSemantic(minimum)
	if err != nil || !has.LessThan(version.MajorMinor(least.Major(), least.Minor())) {
		return err
	}
	if selected.replacement != "" {
		return fmt.Errorf("%[1]s is replaced by %[2]s %[3]s in go.mod, which is older than %[4]s, the oldest version that kinformer works with; "+
			"in go.mod, remove the directive replace %[1]s => %[2]s %[3]s, or upgrade it, and those of other modules of Kubernetes",
			clientGo, selected.replacement, selected.version, minimum)
	}
	return fmt.Errorf("%s %s is older than %s, the oldest version that kinformer works with; to upgrade it: go get %s@%s && go mod tidy",
		clientGo, selected.version, minimum, clientGo, minimum)
}

// goBuild runs a go command that compiles. It leaves its temporary files behind if a signal ends
// it, so they are in a folder that is removed.
func goBuild(ctx context.Context, folder string, args ...string) ([]byte, error) {
	program := command.Program(ctx, "go", args...)
	program.Env = append(os.Environ(), "GOTMPDIR="+folder)
	return gomod.Output(ctx, program)
}
