// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/kinformer/kinformer"

// mayImport lists, for each package of the module, which packages of the module it may import, and
// "client-go" if it may import k8s.io/client-go. Test files may import any package.
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
	"internal/scope":     "",

	// From bytes to items.
	"internal/tap":    "",
	"internal/wire":   "internal/layout internal/protowire",
	"internal/omit":   "internal/layout internal/protowire",
	"internal/decode": "internal/intern internal/protowire",
	"internal/feed":   "internal/layout",
	"internal/codec":  "internal/decode internal/feed internal/omit internal/pack internal/wire",
	"internal/errlog": "internal/feed",
	"internal/source": "internal/codec internal/feed internal/omit internal/tap internal/wire",

	// From items to handlers.
	"internal/reflector":   "internal/feed",
	"internal/storewriter": "internal/codec internal/feed",
	"internal/store":       "internal/eventlog internal/feed internal/pack internal/scope internal/snapmap",
	"internal/scoped":      "internal/feed internal/reflector internal/scope internal/store",
	"internal/informer":    "internal/eventlog internal/feed internal/reflector internal/scope internal/scoped internal/store internal/viewnames",
	"internal/engine":      "internal/codec internal/feed internal/informer internal/omit internal/reflector internal/source internal/store",
	"internal/mutation":    "internal/feed",

	// What a user imports.
	"cache":    "client-go internal/codec internal/engine internal/errlog internal/feed internal/informer internal/mutation internal/omit internal/reflector internal/scope internal/scoped internal/source internal/store internal/storewriter internal/tap",
	"clientgo": "client-go cache internal/codec internal/engine internal/errlog internal/feed internal/informer internal/reflector internal/scope internal/source internal/store internal/storewriter",
	"debug":    "cache internal/units",
	"shard":    "cache internal/errlog internal/scope",

	// client-go's packages by name.
	"clientgo/cache":            "client-go clientgo",
	"clientgo/informers":        "client-go clientgo",
	"clientgo/dynamicinformer":  "client-go clientgo",
	"clientgo/metadatainformer": "client-go clientgo",

	// How informers are observed.
	"metrics": "cache",

	// The embedded API server.
	"fake/internal/codec":    "client-go",
	"fake/internal/fieldset": "",
	"fake/internal/history":  "fake/internal/shard",
	"fake/internal/shard":    "",
	"fake/internal/registry": "client-go fake/internal/fieldset fake/internal/history fake/internal/resource",
	"fake/internal/resource": "client-go fake/internal/history",
	"fake/internal/rest":     "client-go fake/internal/codec fake/internal/history fake/internal/registry fake/internal/resource",
	"fake": "client-go fake/internal/codec fake/internal/fieldset fake/internal/history fake/internal/registry " +
		"fake/internal/resource fake/internal/rest",

	// What the benchmarks and the command share.
	"internal/process":   "",
	"internal/loopback":  "",
	"internal/envelope":  "",
	"internal/footprint": "client-go cache internal/process",

	// Numbers and sizes for people.
	"internal/units": "",

	// What the command and the example share.
	"internal/terminal/terminaltest": "",
	"internal/terminal":              "cache",

	// The command.
	"internal/kubeconfig":                "client-go",
	"cmd/kinformer/internal/collection":  "",
	"cmd/kinformer/internal/command":     "",
	"cmd/kinformer/internal/machine":     "",
	"cmd/kinformer/internal/clustertest": "cmd/kinformer/internal/cluster fake",
	"cmd/kinformer/internal/cluster":     "client-go internal/kubeconfig internal/wire",
	"cmd/kinformer/internal/reader":      "cmd/kinformer/internal/cluster cmd/kinformer/internal/collection internal/protowire internal/wire",
	"cmd/kinformer/internal/cost": "client-go cmd/kinformer/internal/cluster cmd/kinformer/internal/collection cmd/kinformer/internal/command " +
		"cmd/kinformer/internal/machine cmd/kinformer/internal/measure cmd/kinformer/internal/reader internal/terminal internal/units",
	"cmd/kinformer/internal/measure": "cmd/kinformer/internal/collection internal/envelope internal/footprint internal/loopback internal/process",
	"cmd/kinformer/internal/watch":   "client-go cache cmd/kinformer/internal/cluster cmd/kinformer/internal/command internal/terminal",
	"cmd/kinformer":                  "cmd/kinformer/internal/command cmd/kinformer/internal/cost cmd/kinformer/internal/measure cmd/kinformer/internal/watch internal/terminal",

	// Harnesses of tests.
	"internal/cachetest":        "client-go cache fake",
	"internal/cachetest/memory": "",
	"internal/conformance":      "client-go fake",
	"test/faults":               "",
	"test/model":                "",
	"test/mutants":              "",
	"test/soak":                 "",
}

// withoutKubernetes are the packages that import nothing of Kubernetes.
var withoutKubernetes = []string{"internal/eventlog", "internal/snapmap", "internal/pack", "internal/intern", "internal/layout", "internal/protowire", "internal/viewnames"}

// TestImportsFollowTheTable checks the imports of every package against mayImport.
func TestImportsFollowTheTable(t *testing.T) {
	found := packages(t)
	for path, imports := range found {
		allowed, ok := mayImport[path]
		if !ok {
			t.Errorf("package %s is not in mayImport", path)
			continue
		}
		for _, imported := range imports {
			if rule := violation(path, allowed, imported); rule != "" {
				t.Errorf("%s imports %s: %s", path, imported, rule)
			}
		}
	}
	for path := range mayImport {
		if _, ok := found[path]; !ok {
			t.Errorf("mayImport lists %s, which does not exist", path)
		}
	}
}

// TestTableHasNoCycle checks that packages import each other in one direction.
func TestTableHasNoCycle(t *testing.T) {
	var visit func(path string, above []string)
	visit = func(path string, above []string) {
		if slices.Contains(above, path) {
			t.Fatalf("cycle: %v", append(above, path))
		}
		for imported := range strings.FieldsSeq(mayImport[path]) {
			visit(imported, append(slices.Clone(above), path))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(mayImport)) {
		visit(path, nil)
	}
}

// violation returns the rule that an import breaks, or "".
func violation(path, allowed, imported string) string {
	switch inside, own := strings.CutPrefix(imported, module+"/"); {
	case own && !slices.Contains(strings.Fields(allowed), inside):
		return "mayImport does not list it"
	case strings.HasPrefix(imported, "k8s.io/client-go") && !slices.Contains(strings.Fields(allowed), "client-go"):
		return "mayImport does not list client-go"
	case imported == "k8s.io/client-go/tools/cache" && !mayImportClientGoCache(path):
		return "reflector, store and informers are this project's own; only clientgo implements its interfaces"
	case strings.HasPrefix(imported, "github.com/prometheus/") && path != "metrics":
		return "only metrics imports it, as programs without Prometheus need not compile it"
	case (strings.HasPrefix(imported, "k8s.io/") || strings.HasPrefix(imported, "sigs.k8s.io/")) && slices.Contains(withoutKubernetes, path):
		return "the package knows nothing of Kubernetes"
	}
	return ""
}

// mayImportClientGoCache reports whether a package may import client-go's informers: to implement
// their interfaces, or to measure them beside this project's own.
func mayImportClientGoCache(path string) bool {
	return path == "clientgo" || strings.HasPrefix(path, "clientgo/") || path == "internal/footprint"
}

// packages returns the packages of the module, by their paths in it, with their imports.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-e", "-f", `{{if .GoFiles}}{{.ImportPath}} {{join .Imports " "}}{{end}}`, "./...")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	found := make(map[string][]string)
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		found[strings.TrimPrefix(words[0], module+"/")] = words[1:]
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
		{"cache", "github.com/prometheus/client_golang/prometheus", true},
		{"cache", module + "/fake", true},
		{"fake", module + "/cache", true},
		{"cache", "k8s.io/client-go/tools/cache", true},
		{"internal/footprint", "k8s.io/client-go/tools/cache", false},
		{"internal/reflector", "k8s.io/client-go/rest", true},
		{"internal/eventlog", "k8s.io/apimachinery/pkg/watch", true},
		{"internal/snapmap", "sigs.k8s.io/json", true},
	} {
		if rule := violation(c.path, mayImport[c.path], c.imported); (rule != "") != c.broken {
			t.Errorf("%s imports %s: %q", c.path, c.imported, rule)
		}
	}
}
