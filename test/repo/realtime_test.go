// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	realTime = strings.Fields(`net.Dial net.Dialer net.Listen net.ListenConfig exec.Command exec.CommandContext
		httptest.NewServer httptest.NewTLSServer httptest.NewUnstartedServer fake.StartAPIServer loopback.Start
		cachetest.NewProxy cachetest.NewScript cachetest.StartAPIServer conformance.RunScriptsOnFake process.Child
		clustertest.Start command.Program compiled.List measure.Run program.Start program.StartIn`)  // sockets and processes
	sleeps  = strings.Fields(`time.After time.AfterFunc time.NewTicker time.NewTimer time.Sleep time.Tick`)
	bubbles = strings.Fields(`synctest.Test cachetest.InBubble cachetest.InBubbleWithOptions cachetest.RunInBubble
		simulate.Find simulate.Repeat simulate.Replay simulate.Run simulate.RunPlan simulate.RunPods`)
)

// testFunction is what a function of a package's tests does.
type testFunction struct {
	realTime, sleeps, bubble, isMethod, reached bool
	mentions                                    map[string]bool // identifiers
}

// TestRealTimePackagesAreListed compares .ci/realtime.mk with the tests of all modules but bench
// and e2e. A function that starts a bubble, or mentions one that does, is assumed to sleep in it.
func TestRealTimePackagesAreListed(t *testing.T) {
	root, err := filepath.Abs(".") // go test caches the results of relative paths whatever the files become
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, ".ci", "realtime.mk"))
	if err != nil {
		t.Fatal(err)
	}
	packages := make(map[string]map[string]*testFunction)
	if err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		path := filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator)))
		if entry.IsDir() && (path == "bench" || path == "e2e" || name != root && entry.Name()[0] == '.') {
			return filepath.SkipDir
		}
		if folder, _, ok := strings.Cut(path, "/"+entry.Name()); ok && err == nil && strings.HasSuffix(name, "_test.go") {
			if packages[folder] == nil {
				packages[folder] = make(map[string]*testFunction)
			}
			err = addTestFunctions(packages[folder], name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, line := range regexp.MustCompile(`(?m)^realtime \+= \./(\S+) # \S`).FindAllStringSubmatch(string(text), -1) {
		if usesRealTime(packages[line[1]]) == "" {
			t.Errorf(".ci/realtime.mk lists %s, whose tests have no socket, process or sleep", line[1])
		}
		delete(packages, line[1])
	}
	for folder, functions := range packages {
		if name := usesRealTime(functions); name != "" {
			t.Errorf("%s: %s has a socket, a process or a sleep: list the package in .ci/realtime.mk, or use a bubble", folder, name)
		}
	}
}

// addTestFunctions adds the functions of a file. Those of one name are one.
func addTestFunctions(functions map[string]*testFunction, name string) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, declaration := range file.Decls {
		f := &testFunction{mentions: make(map[string]bool)}
		if function, ok := declaration.(*ast.FuncDecl); ok {
			if other := functions[function.Name.Name]; other != nil {
				f = other
			}
			functions[function.Name.Name], f.isMethod = f, function.Recv != nil
		}
		ast.Inspect(declaration, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.Ident:
				f.mentions[n.Name] = true
			case *ast.CallExpr:
				return !isInMemory(n)
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok {
					selected := x.Name + "." + n.Sel.Name
					f.realTime = f.realTime || slices.Contains(realTime, selected)
					f.sleeps = f.sleeps || slices.Contains(sleeps, selected)
					f.bubble = f.bubble || slices.Contains(bubbles, selected)
				}
			}
			return true
		})
	}
	return nil
}

// isInMemory reports whether a call starts a server without a socket.
func isInMemory(call *ast.CallExpr) bool {
	return slices.ContainsFunc(call.Args, func(argument ast.Expr) bool {
		options, ok := argument.(*ast.CompositeLit)
		return ok && slices.ContainsFunc(options.Elts, func(element ast.Expr) bool {
			field, ok := element.(*ast.KeyValueExpr)
			if !ok {
				return false
			}
			name, ok := field.Key.(*ast.Ident)
			return ok && name.Name == "InMemory"
		})
	})
}

// usesRealTime returns the name of a function that uses real time, or "".
func usesRealTime(functions map[string]*testFunction) string {
	for name := range functions {
		if regexp.MustCompile("^(Test|Benchmark|Example|Fuzz)").MatchString(name) {
			reach(functions, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		if f := functions[name]; f.realTime || f.sleeps && f.reached {
			return name
		}
	}
	return ""
}

// reach marks what a function reaches outside of bubbles. Methods that other packages may call are
// not followed.
func reach(functions map[string]*testFunction, name string) {
	f := functions[name]
	if f == nil || f.reached || leadsToBubble(functions, name, make(map[string]bool)) {
		return
	}
	f.reached = true
	for mentioned := range f.mentions {
		if g := functions[mentioned]; g != nil && !(g.isMethod && ast.IsExported(mentioned)) {
			reach(functions, mentioned)
		}
	}
}

// leadsToBubble reports whether a function starts a bubble, or mentions one that does.
func leadsToBubble(functions map[string]*testFunction, name string, seen map[string]bool) bool {
	f := functions[name]
	if f == nil || seen[name] {
		return false
	}
	seen[name] = true
	for mentioned := range f.mentions {
		f.bubble = f.bubble || leadsToBubble(functions, mentioned, seen)
	}
	return f.bubble
}
