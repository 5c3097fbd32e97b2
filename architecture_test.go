package kinformer_test

import (
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/kinformer/kinformer"

// layers are the folders of the module from the lowest to the highest. A package may
// import what is under its own folder and what is in lower layers.
var layers = [][]string{
	{"internal"},
	{"cache"},
	{"clientgo", "shard", "metrics", "debug", "fake"},
	{"examples"},
}

// leaves know nothing of Kubernetes at all.
var leaves = []string{"internal/snapmap", "internal/eventlog"}

// TestImportsRunDownward holds the arrows between the packages: examples on clientgo,
// shard, metrics, debug and fake, those on cache, cache on internal. Tests may import
// what they like.
func TestImportsRunDownward(t *testing.T) {
	for path, imports := range packages(t) {
		own := layerOf(path)
		if own < 0 {
			t.Errorf("%s is in no layer; say in which it belongs", path)
		}
		for _, imported := range imports {
			for _, rule := range broken(path, own, imported) {
				t.Errorf("%s imports %s: %s", path, imported, rule)
			}
		}
	}
}

// broken returns the rules that an import breaks.
func broken(path string, own int, imported string) (rules []string) {
	if inside, ok := strings.CutPrefix(imported, module+"/"); ok {
		if layer := layerOf(inside); folder(inside) != folder(path) && layer >= own {
			rules = append(rules, "imports run downward only")
		}
	}
	if imported == "k8s.io/client-go/tools/cache" && folder(path) != "clientgo" {
		rules = append(rules, "reflector, store and informers are this project's own; only clientgo implements its interfaces")
	}
	if strings.HasPrefix(imported, "k8s.io/client-go") && folder(path) == "internal" {
		rules = append(rules, "what is under internal knows nothing of Kubernetes clients")
	}
	for _, leaf := range leaves {
		if path == leaf && (strings.Contains(imported, "k8s.io/") || strings.HasPrefix(imported, module)) {
			rules = append(rules, "the leaves know nothing of Kubernetes, or of the rest of the module")
		}
	}
	return rules
}

// folder returns the first part of a package's path in the module.
func folder(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

// layerOf returns the number of a package's layer, or -1.
func layerOf(path string) int {
	for n, folders := range layers {
		for _, name := range folders {
			if folder(path) == name {
				return n
			}
		}
	}
	return -1
}

// packages returns the module's packages, by their paths in it, with what they import.
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
	for _, path := range append([]string{"cache", "fake"}, leaves...) {
		if _, ok := found[path]; !ok {
			t.Errorf("there is no package %s: %s", path, out)
		}
	}
	return found
}

// TestTheRules breaks each rule once.
func TestTheRules(t *testing.T) {
	for _, c := range []struct {
		path, imported string
		broken         bool
	}{
		{"internal/store", module + "/internal/snapmap", false},
		{"cache", module + "/internal/store", false},
		{"fake/internal/rest", module + "/fake/internal/history", false},
		{"examples/nodecache", module + "/fake", false},
		{"clientgo", "k8s.io/client-go/tools/cache", false},
		{"internal/store", module + "/cache", true},
		{"cache", module + "/fake", true},
		{"metrics", module + "/debug", true},
		{"cache", module + "/examples/nodecache", true},
		{"cache", "k8s.io/client-go/tools/cache", true},
		{"examples/nodecache", "k8s.io/client-go/tools/cache", true},
		{"internal/reflector", "k8s.io/client-go/rest", true},
		{"internal/eventlog", "k8s.io/apimachinery/pkg/watch", true},
		{"internal/snapmap", "sigs.k8s.io/json", true},
		{"internal/snapmap", module + "/internal/feed", true},
	} {
		if rules := broken(c.path, layerOf(c.path), c.imported); len(rules) > 0 != c.broken {
			t.Errorf("%s imports %s: %v", c.path, c.imported, rules)
		}
	}
}
