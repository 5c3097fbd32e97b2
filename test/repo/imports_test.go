// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/kinformer/kinformer"

// mayImport lists, for each package of the library, the command and module test, which packages of
// these modules it may import, and "client-go" if it may import k8s.io/client-go. A package without
// a line has that of the folder above it, in which a folder stands for all of its packages. Test
// files may import any package.
//
// The order is that of the data flow from the bottom up: leaves, stages, what a user imports, and
// what is built on that.
var mayImport = map[string]string{
	// Leaves, which know nothing of Kubernetes.
	"internal/eventlog":  "",
	"internal/snapmap":   "",
	"internal/pack":      "",
	"internal/intern":    "",
	"internal/layout":    "",
	"internal/protowire": "",
	"internal/viewnames": "",
	"internal/keep":      "",
	"internal/scope":     "",
	"internal/served":    "",
	"internal/units":     "", // numbers and sizes for people

	// From bytes to items.
	"internal/tap":    "",
	"internal/wire":   "internal/layout internal/protowire",
	"internal/fields": "internal/layout internal/protowire",
	"internal/decode": "internal/fields internal/intern internal/protowire",
	"internal/feed":   "internal/layout",
	"internal/codec":  "internal/decode internal/feed internal/fields internal/layout internal/pack internal/wire",
	"internal/errlog": "internal/feed",
	"internal/source": "internal/codec internal/feed internal/fields internal/tap internal/wire",

	// From items to handlers.
	"internal/history":     "internal/feed internal/layout internal/protowire",
	"internal/reflector":   "internal/feed internal/history internal/served",
	"internal/storewriter": "internal/codec internal/feed internal/history",
	"internal/store":       "internal/eventlog internal/feed internal/history internal/keep internal/pack internal/scope internal/snapmap",
	"internal/scoped":      "internal/feed internal/reflector internal/scope internal/store",
	"internal/informer":    "internal/eventlog internal/feed internal/reflector internal/scope internal/scoped internal/store internal/viewnames",
	"internal/engine":      "internal/codec internal/feed internal/fields internal/informer internal/reflector internal/source internal/store",
	"internal/mutation":    "internal/feed",

	// What a user imports.
	"cache":    "client-go internal/codec internal/engine internal/errlog internal/feed internal/fields internal/informer internal/mutation internal/pack internal/reflector internal/scope internal/scoped internal/served internal/source internal/store internal/storewriter internal/tap",
	"clientgo": "client-go cache clientgo internal/codec internal/engine internal/errlog internal/feed internal/informer internal/reflector internal/scope internal/served internal/source internal/store internal/storewriter internal/tap",
	"debug":    "cache internal/errlog internal/units shard",
	"follow":   "client-go cache internal/errlog internal/feed internal/served",
	"metrics":  "cache follow shard",
	"shard":    "cache internal/errlog internal/feed internal/scope",
	"simulate": "client-go fake simulate/internal/admission simulate/internal/canonical simulate/internal/rbac simulate/internal/workloads",

	"simulate/internal/canonical": "",
	"simulate/internal/admission": "client-go",
	"simulate/internal/rbac":      "client-go",
	"simulate/internal/workloads": "fake",
	"fake":                        "client-go fake/internal",

	// What tests of several packages share, and the command with bench; module test; the command.
	"internal/testing":          "client-go cache fake internal/testing",
	"internal/testing/loopback": "",
	"internal/testing/envelope": "",
	"internal/testing/process":  "",
	"internal/testing/random":   "",
	"test":                      "",
	"test/conformance":          "client-go fake",
	"test/size":                 "internal/units",
	"cmd/kinformer":             "client-go cache cmd/kinformer fake internal/protowire internal/testing internal/units internal/wire",
}

// withoutKubernetes are the packages that import nothing of Kubernetes.
var withoutKubernetes = []string{"internal/eventlog", "internal/snapmap", "internal/pack", "internal/intern", "internal/layout", "internal/protowire", "internal/viewnames", "internal/units"}

// TestImportsFollowTheTable checks the imports of every package against mayImport.
func TestImportsFollowTheTable(t *testing.T) {
	used := make(map[string]bool)
	for path, imports := range packages(t) {
		line, ok := lineOf(path)
		if !ok {
			t.Errorf("neither package %s nor a folder above it is in mayImport", path)
			continue
		}
		used[line] = true
		for _, imported := range imports {
			if rule := violation(path, imported); rule != "" {
				t.Errorf("%s imports %s: %s", path, imported, rule)
			}
		}
	}
	for line := range mayImport {
		if !used[line] {
			t.Errorf("mayImport lists %s, which no package has", line)
		}
	}
}

// lineOf returns the key in mayImport that applies to a package.
func lineOf(path string) (line string, ok bool) {
	for line = path; line != "."; line = filepath.Dir(line) {
		if _, ok := mayImport[line]; ok {
			return line, true
		}
	}
	return "", false
}

// violation returns the rule that an import breaks, or "".
func violation(path, imported string) string {
	line, _ := lineOf(path)
	allowed := strings.Fields(mayImport[line])
	lists := func(imported string) bool {
		return slices.ContainsFunc(allowed, func(name string) bool { return isWithin(imported, name) })
	}
	switch inside, own := strings.CutPrefix(imported, module+"/"); {
	case own && !lists(inside):
		return "mayImport does not list it"
	case own && isWithin(inside, "internal/testing") && !isWithin(path, "internal/testing") && !isWithin(path, "cmd"):
		return "the library does not depend on what tests it"
	case isWithin(imported, "k8s.io/client-go") && !slices.Contains(allowed, "client-go"):
		return "mayImport does not list client-go"
	case (imported == "k8s.io/client-go/tools/cache" || imported == "k8s.io/client-go/informers") && !isWithin(path, "clientgo") && path != "internal/testing/footprint":
		return "reflector, store and informers are this project's own; only clientgo implements its interfaces"
	case isWithin(imported, "github.com/prometheus") && path != "metrics":
		return "only metrics imports it, as programs without Prometheus need not compile it"
	case (isWithin(imported, "k8s.io") || isWithin(imported, "sigs.k8s.io")) && slices.Contains(withoutKubernetes, path):
		return "the package knows nothing of Kubernetes"
	}
	return ""
}

// isWithin reports whether a package is a folder, or in one.
func isWithin(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// packages returns the packages of the library, the command and module test, by their paths in the
// repository, with their imports.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	found := make(map[string][]string)
	for _, folder := range []string{".", "metrics", "test", "cmd/kinformer"} {
		list := output(t, "go", "-C", folder, "list", "-e", "-f", `{{if .GoFiles}}{{.ImportPath}} {{join .Imports " "}}{{end}}`, "./...")
		for line := range strings.Lines(list) {
			words := strings.Fields(line)
			found[strings.TrimPrefix(words[0], module+"/")] = words[1:]
		}
	}
	return found
}

// TestViolations breaks each rule once.
func TestViolations(t *testing.T) {
	for _, c := range []struct {
		path, imported string
		broken         bool
	}{
		{"internal/store", module + "/internal/snapmap", false},
		{"cache", module + "/internal/store", false},
		{"clientgo", "k8s.io/client-go/tools/cache", false},
		{"metrics", "github.com/prometheus/client_golang/prometheus", false},
		{"internal/store", module + "/cache", true},
		{"internal/store", module + "/internal/testing/process", true},
		{"cmd/kinformer/internal/measure", module + "/internal/testing/process", false},
		{"fake", module + "/fake/internal/rest", false},
		{"cache", "github.com/prometheus/client_golang/prometheus", true},
		{"cache", module + "/fake", true},
		{"fake", module + "/cache", true},
		{"cache", "k8s.io/client-go/tools/cache", true},
		{"internal/testing/footprint", "k8s.io/client-go/tools/cache", false},
		{"internal/reflector", "k8s.io/client-go/rest", true},
		{"internal/eventlog", "k8s.io/apimachinery/pkg/watch", true},
		{"internal/snapmap", "sigs.k8s.io/json", true},
	} {
		if rule := violation(c.path, c.imported); (rule != "") != c.broken {
			t.Errorf("%s imports %s: %q", c.path, c.imported, rule)
		}
	}
}

// TestEngineIsCompiledOnce checks that the stages of an informer have no type parameters: a program
// would compile them anew in each of its packages that names a type of package cache.
func TestEngineIsCompiledOnce(t *testing.T) {
	for _, folder := range []string{"store", "scoped", "informer", "engine"} {
		files := sourceFiles(t, filepath.Join("internal", folder))
		if len(files) == 0 {
			t.Errorf("no files in %s", folder)
		}
		for _, file := range files {
			ast.Inspect(file, func(node ast.Node) bool {
				switch n := node.(type) {
				case *ast.TypeSpec:
					if n.TypeParams != nil {
						t.Errorf("%s: type %s has type parameters", folder, n.Name)
					}
				case *ast.FuncDecl:
					if n.Type.TypeParams != nil {
						t.Errorf("%s: func %s has type parameters", folder, n.Name)
					}
				}
				return true
			})
		}
	}
}
