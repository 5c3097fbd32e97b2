// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// miniature is a program of one package, which the command edits without go.mod.
type miniature struct {
	t         *testing.T
	pkg       *pkg
	adopter   *adopter
	notes     []string
	streaming *Streaming
}

// adoptFiles edits the files of a package. Those in ignored are not built on this platform.
func adoptFiles(t *testing.T, files map[string]string, ignored ...string) *miniature {
	t.Helper()
	m, err := adoptWith(t, &options{tests: true}, files, ignored...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func adoptWith(t *testing.T, o *options, files map[string]string, ignored ...string) (*miniature, error) {
	t.Helper()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	l := &listed{Dir: t.TempDir(), ImportPath: "example.com/program", Name: "main", IgnoredGoFiles: ignored}
	p := &program{root: l.Dir, listed: map[string]*listed{l.ImportPath: l}}
	m := &miniature{t: t, pkg: &pkg{listed: l}}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(l.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m.pkg.files = append(m.pkg.files, name)
	}
	for folder, file := range map[string]string{"": "factory.go", "widgets": "interface.go", "widgets/v1": "interface.go"} {
		name := "externalversions/" + folder
		path := strings.TrimSuffix("example.com/clientset/"+name, "/")
		p.listed[path] = &listed{Dir: filepath.Join(here, "testdata", "modules", "clientset", name), ImportPath: path, Name: filepath.Base(path), GoFiles: []string{file}}
	}
	p.packages = []*pkg{m.pkg}
	a, err := rewrite(t.Context(), p, filepath.Join(here, "..", "..", "..", ".."), o)
	if err != nil {
		return nil, err
	}
	m.adopter, m.streaming = a, a.streaming()
	for _, n := range a.notes {
		m.notes = append(m.notes, fmt.Sprintf("%s:%d: %s: %s", n.file, n.line, n.what, strings.Join(n.write, "; ")))
	}
	return m, nil
}

// text returns a file after the edits.
func (m *miniature) text(name string) string {
	m.t.Helper()
	for _, s := range m.pkg.sources {
		if s.name == name {
			text, err := s.result()
			if err != nil {
				m.t.Fatal(err)
			}
			return string(text)
		}
	}
	m.t.Fatalf("%s is not a source", name)
	return ""
}

// expectEdits checks which lines of main.go are new.
func (m *miniature) expectEdits(before string, want ...string) {
	m.t.Helper()
	old := map[string]bool{}
	for line := range strings.Lines(before) {
		old[strings.TrimSpace(line)] = true
	}
	var got []string
	for line := range strings.Lines(m.text("main.go")) {
		if line = strings.TrimSpace(line); !old[line] {
			got = append(got, line)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		m.t.Errorf("new lines:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// expectNotes checks the beginnings of the notes.
func (m *miniature) expectNotes(want ...string) {
	m.t.Helper()
	ok := len(m.notes) == len(want)
	for i := range min(len(want), len(m.notes)) {
		ok = ok && strings.HasPrefix(m.notes[i], want[i])
	}
	if !ok {
		m.t.Errorf("notes:\n%s\nwant:\n%s", strings.Join(m.notes, "\n"), strings.Join(want, "\n"))
	}
}

const managerHeader = `package main

import (
	"github.com/kinformer/kinformer/clientgo"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

`

// TestManagerOptionsOfTheProgramAreKept checks that the option of a manager is set only where it is
// certain that the program does not set it. A literal or a declaration of the function is edited
// once, and outside of loops.
func TestManagerOptionsOfTheProgramAreKept(t *testing.T) {
	const (
		function   = "var shared = ctrl.Options{}; func main(parameter ctrl.Options) { "
		set        = "NewInformer: clientgo.Options{}.NewInformer"
		setManager = "options.Cache.NewInformer = clientgo.Options{}.NewInformer"
		note       = "main.go:11: "
	)
	for name, test := range map[string]struct{ body, edit, note string }{
		"set in the literal":     {"options := cache.Options{NewInformer: packed}\n\tstart(ctrl.NewManager(c, ctrl.Options{Cache: options}))", "", ""},
		"set in a nested field":  {"options := ctrl.Options{Cache: cache.Options{NewInformer: packed}}\n\tstart(ctrl.NewManager(c, options))", "", ""},
		"set in an outer block":  {"var options ctrl.Options; options.Cache.NewInformer = packed\n\tif true { start(ctrl.NewManager(c, options)) }", "", ""},
		"set in a parameter":     {"parameter.Cache.NewInformer = packed\n\tstart(ctrl.NewManager(c, parameter))", "", ""},
		"set under a condition":  {"var options ctrl.Options; if big { options.Cache.NewInformer = packed }\n\tstart(ctrl.NewManager(c, options))", "", note},
		"a copied field":         {"options := ctrl.Options{Cache: cacheOptions}\n\tstart(ctrl.NewManager(c, options))", "", "main.go:10: "},
		"a result":               {"options := getOptions()\n\tstart(ctrl.NewManager(c, options))", "", note},
		"one of several results": {"options, err := getOptions()\n\tstart(ctrl.NewManager(c, options), err)", "", note},
		"a parameter":            {"\n\tstart(ctrl.NewManager(c, parameter))", "", note},
		"a package's variable":   {"\n\tstart(ctrl.NewManager(c, shared))", "", note},
		"an element":             {"for _, options := range all {\n\tstart(ctrl.NewManager(c, options)) }", "", note},
		"an assigned element":    {"var options ctrl.Options; for _, options = range all {\n\tstart(ctrl.NewManager(c, options)) }", "", note},
		"replaced":               {"options := ctrl.Options{}; options.Cache = cache.Options{}\n\tstart(ctrl.NewManager(c, options))", setManager, ""},
		"shared by its address":  {"options := ctrl.Options{}; configure(&options)\n\tstart(ctrl.NewManager(c, options))", "", note},
		"declared in the call":   {"\n\tif options := (ctrl.Options{}); start(ctrl.NewManager(c, options)) {}", "", note},
		"not set":                {"options := ctrl.Options{LeaderElection: true}\n\tstart(ctrl.NewManager(c, options))", function + "options := ctrl.Options{Cache: cache.Options{" + set + "}, LeaderElection: true}", ""},
		"another field":          {"var options ctrl.Options; options.Cache.Namespaces = nil\n\tstart(ctrl.NewManager(c, options))", function + "var options ctrl.Options\n" + setManager + "; options.Cache.Namespaces = nil", ""},
		"not set in the cache":   {"options := cache.Options{}\n\tstart(ctrl.NewManager(c, ctrl.Options{Cache: options}))", function + "options := cache.Options{" + set + "}", ""},
		"another variable":       {"{ options := cache.Options{NewInformer: packed}; use(options) }; options := cache.Options{}\n\tstart(cache.New(c, options))", function + "{ options := cache.Options{NewInformer: packed}; use(options) }; options := cache.Options{" + set + "}", ""},
		"used in a loop":         {"options := cache.Options{}\n\tfor { start(ctrl.NewManager(c, ctrl.Options{Cache: options})) }", function + "options := cache.Options{" + set + "}", ""},
		"used by two calls":      {"options := cache.Options{}\n\tstart(cache.New(c, options)); start(cache.New(c, options))", function + "options := cache.Options{" + set + "}", ""},
		"declared for two calls": {"var options cache.Options\n\tstart(cache.New(c, options)); start(cache.New(c, options))", "options.NewInformer = clientgo.Options{}.NewInformer", ""},
		"a literal's field":      {"nested := cache.Options{}; options := ctrl.Options{Cache: nested}\n\tstart(ctrl.NewManager(c, options))", function + "nested := cache.Options{" + set + "}; options := ctrl.Options{Cache: nested}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := managerHeader + function + test.body + "\n}\n"
			m := adoptFiles(t, map[string]string{"main.go": before})
			m.expectEdits(before, slices.DeleteFunc([]string{test.edit}, isEmpty)...)
			m.expectNotes(slices.DeleteFunc([]string{test.note}, isEmpty)...)
		})
	}
}

func isEmpty(s string) bool { return s == "" }

// TestClusterOptionsOfTheProgramAreKept checks that a later option of the program has precedence.
func TestClusterOptionsOfTheProgramAreKept(t *testing.T) {
	before := managerHeader + `func main() {
	cluster.New(c, custom)
	cluster.New(c, func(o *cluster.Options) { o.Cache.NewInformer = packed }, custom)
}
`
	m := adoptFiles(t, map[string]string{"main.go": before})
	m.expectEdits(before, "cluster.New(c, func(o *cluster.Options) { o.Cache.NewInformer = clientgo.Options{}.NewInformer }, custom)")
	m.expectNotes()
}

func TestManagersThatAreNotCalledInAFunctionAreNoted(t *testing.T) {
	before := managerHeader + `var manager = ctrl.NewManager(c, ctrl.Options{})

var newCluster = cluster.New

func main() { start(cache.New, ctrl.GetConfigOrDie, ctrl.NewManager(arguments())) }
`
	m := adoptFiles(t, map[string]string{"main.go": before})
	m.expectEdits(before)
	m.expectNotes("main.go:10: ", "main.go:12: ", "main.go:14: ", "main.go:14: ")
}

// TestReflectorTypeIsChangedInAnyImport names only client-go's type for reflectors in a file of a
// package that makes a reflector.
func TestReflectorTypeIsChangedInAnyImport(t *testing.T) {
	const (
		imported = `"k8s.io/client-go/tools/cache"`
		added    = `"github.com/kinformer/kinformer/clientgo"`
	)
	for before, want := range map[string]string{
		"import (\n\t" + imported + "\n)":                       "import (\n\t" + added + "\n)",
		"import (\n\t// Caches.\n\t" + imported + "\n)":         "import (\n\t" + added + "\n\t// Caches.\n)",
		"import (\n\t" + imported + " // caches\n\t_ \"os\"\n)": "import (\n\t" + added + "\n\t_ \"os\"\n)",
		"import (\n\t// No.\n\n\t" + imported + " // caches\n)": "import (\n\t// No.\n\n\t" + added + "\n)",
		"import (" + imported + ")":                             "import " + added,
		"import " + imported:                                    "import " + added,
		"import " + imported + " //nolint:depguard":             "import " + added,
		"// Caches.\nimport " + imported:                        "// Caches.\n\nimport " + added,
	} {
		rest := "\n\nvar reflector *cache.Reflector\n"
		m := adoptFiles(t, map[string]string{
			"main.go": "package main\n\n" + before + rest,
			"make.go": "package main\n\nimport " + imported + "\n\nfunc reflect() { cache.NewReflector(lw, nil, store, 0) }\n",
		})
		got := m.text("main.go")
		want := "package main\n\n" + want + strings.ReplaceAll(rest, "cache.", "clientgo.")
		if normalize(got) != normalize(want) {
			t.Errorf("%q:\n%s\nwant:\n%s", before, got, want)
		}
	}
}

// normalize removes empty lines, and indents.
func normalize(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ReplaceAll(text, "\t", ""), func(r rune) bool { return r == '\n' }), "\n")
}

func TestImportIsAddedAfterTheCommentOfTheLine(t *testing.T) {
	before := "package main\n\nimport ctrl \"sigs.k8s.io/controller-runtime\" //nolint:depguard\n\nfunc main() { ctrl.NewManager(c, ctrl.Options{}) }\n"
	text := adoptFiles(t, map[string]string{"main.go": before}).text("main.go")
	if !strings.Contains(text, "\nimport ctrl \"sigs.k8s.io/controller-runtime\" //nolint:depguard\n") {
		t.Errorf("the comment has moved:\n%s", text)
	}
}

func TestOverlappingEditsAreAnError(t *testing.T) {
	m := adoptFiles(t, map[string]string{"main.go": "package main\n\nvar informer = b\n"})
	s := m.pkg.sources[0]
	s.replace(s.file.Decls[0], "")
	s.insert(s.file.Decls[0].End()-1, "c")
	if _, err := s.result(); err == nil || err.Error() != "edit main.go:3: edits overlap" {
		t.Errorf("error %v", err)
	}
}

const factoryHeader = `package main

import (
	"github.com/kinformer/kinformer/clientgo"
	"example.com/clientset/externalversions"
)

`

// TestFactoriesOfOneNameAreAdoptedEach has two variables of one name, and passes one of them to
// clientgo.Generated.
func TestFactoriesOfOneNameAreAdoptedEach(t *testing.T) {
	const made = "factory := externalversions.NewSharedInformerFactory(c, 0)\n"
	before := factoryHeader + "func first() {\n" + made + "generated := clientgo.Generated(factory, clientgo.Options{})\nuse(generated)\nfactory.Widgets().V1().Widgets().Informer()\n}\n" +
		"func second() {\n" + made + "factory.Widgets().V1().Widgets().Informer()\n}\n" +
		"func third(h *holder) { h.factory = externalversions.NewSharedInformerFactory(c, 0); clientgo.Generated(h.factory, clientgo.Options{}) }\n" +
		"func fourth(h *holder) { h.factory = externalversions.NewSharedInformerFactory(c, 0) }\n" +
		"var fifth = externalversions.NewSharedInformerFactory(c, 0)\nvar generated5 = clientgo.Generated(fifth, clientgo.Options{})\n"
	m := adoptFiles(t, map[string]string{"main.go": before})
	m.expectEdits(before, `"example.com/clientset/externalversions/widgets"`,
		"generatedFactory := clientgo.Generated(factory, clientgo.Options{})",
		"widgets.New(generatedFactory, generatedFactory.Namespace(), generatedFactory.TweakListOptions()).V1().Widgets().Informer()")
	m.expectNotes("main.go:19: ")
}

// TestInformersThatMayNotBeUsedAreNoted checks that no informer is added to a factory that the
// program may not make: the factory would start a watch of a resource that may not be installed.
func TestInformersThatMayNotBeUsedAreNoted(t *testing.T) {
	const use = "factory.Widgets().V1().Widgets()"
	for name, test := range map[string]struct {
		body    string
		isAdded bool
	}{
		"after a conditional return":   {"if !installed { return }; " + use + ".Informer()", false},
		"after a return in a loop":     {"for range all { if !installed { return } }; " + use + ".Informer()", false},
		"after a conditional continue": {"if !installed { continue }; " + use + ".Lister()", false},
		"without a method":             {"start(" + use + ")", false},
		"under a condition":            {"if installed { " + use + ".Lister() }", false},
		"in the condition of a return": {"if _, err := " + use + ".Informer().AddEventHandler(h); err != nil { return }", true},
		"after a return of a function": {"go func() { return }(); " + use + ".Lister()", true},
		"before a return":              {use + ".Lister(); return", true},
	} {
		t.Run(name, func(t *testing.T) {
			before := factoryHeader + "func main() { for {\nfactory := externalversions.NewSharedInformerFactory(c, 0)\n" + test.body + "\n} }\n"
			m := adoptFiles(t, map[string]string{"main.go": before})
			if isAdded := strings.Contains(m.text("main.go"), ".V1().Widgets().Informer()\n") && m.text("main.go") != before; isAdded != test.isAdded {
				t.Errorf("is added: %v\n%s", isAdded, m.text("main.go"))
			}
			if (len(m.notes) == 0) != test.isAdded {
				t.Errorf("notes: %q", m.notes)
			}
		})
	}
}

// TestGeneratedPackageIsRecognized checks the header in any file, which is at the beginning if the
// generator is run without a header of the program.
func TestGeneratedPackageIsRecognized(t *testing.T) {
	for text, want := range map[string]bool{
		"// Code generated by informer-gen. DO NOT EDIT.\n\npackage v1\n":                true,
		"// License\n\n// Code generated by informer-gen. DO NOT EDIT.\n\npackage v1\n":  true,
		"package v1\n\nvar text = `x // Code generated by informer-gen. DO NOT EDIT.`\n": false,
		"// Code generated by lister-gen. DO NOT EDIT.\n\npackage v1\n":                  false,
	} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "a.go"), "package v1\n")
		writeFile(t, filepath.Join(dir, "b.go"), text)
		p := &program{listed: map[string]*listed{"v1": {Dir: dir, GoFiles: []string{"a.go", "b.go"}}}}
		if got := p.isGeneratedBy("informer-gen", "v1"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestEachImportOfAPathIsEdited(t *testing.T) {
	before := `package main

import (
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/cache"
	. "k8s.io/client-go/tools/cache"
)

var first, second = clientcache.NewSharedInformer(lw, nil, 0), cache.NewSharedInformer(lw, nil, 0)

var types struct { first *clientcache.Reflector; second *cache.Reflector }

func reflect() { cache.NewReflector(lw, nil, store, 0) }
`
	m := adoptFiles(t, map[string]string{"main.go": before})
	m.expectEdits(before, `"github.com/kinformer/kinformer/clientgo"`, `clientcache "github.com/kinformer/kinformer/clientgo/cache"`, `"github.com/kinformer/kinformer/clientgo/cache"`,
		"var types struct { first *clientgo.Reflector; second *clientgo.Reflector }")
	m.expectNotes("main.go:6: ")
}

// TestTypedInformersAreNoted uses the functions that client-go and informer-gen have since v0.37.
func TestTypedInformersAreNoted(t *testing.T) {
	before := `package main

import (
	"k8s.io/client-go/tools/cache"
	"example.com/clientset/externalversions"
)

var wrapped = cache.NewTypedSharedIndexInformer[*corev1.Pod](informer)

var typed = externalversions.NewTypedWidgetInformer(c, "", 0, nil)
`
	m := adoptFiles(t, map[string]string{"main.go": before})
	m.expectEdits(before)
	m.expectNotes("main.go:10: NewTypedWidgetInformer makes an informer of client-go: wrap one that is adopted: import \"k8s.io/client-go/tools/cache\"; import \"" + clientgoPath +
		"\"; cache.NewTypedSharedIndexInformer[T](clientgo.Adopt(externalversions.NewWidgetInformer(client, namespace, resyncPeriod, indexers), clientgo.Options{}))")
}

// TestFilesOfOtherPlatformsAreEditedOrNoted has a file that does not parse, and one of another
// package, in which a variable has the name of an import.
func TestFilesOfOtherPlatformsAreEditedOrNoted(t *testing.T) {
	before := "package main\n\nimport \"k8s.io/client-go/tools/cache\"\n\nvar informer = cache.NewSharedInformer(lw, nil, 0)\n"
	tool := "//go:build ignore\n\npackage tool\n\nimport \"k8s.io/client-go/tools/cache\"\n\nfunc tool(cache own) { cache.NewSharedInformer(lw, nil, 0) }\n\nvar store cache.Store\n"
	m := adoptFiles(t, map[string]string{"main.go": before, "tool.go": tool, "broken.go": "//go:build ignore\n\npackage main\n\nfunc {\n"}, "tool.go", "broken.go")
	m.expectEdits(before, `import "github.com/kinformer/kinformer/clientgo/cache"`)
	if got := m.text("tool.go"); got != tool {
		t.Errorf("tool.go is edited:\n%s", got)
	}
	m.expectNotes("broken.go:5: not parsed, and not built on this platform: expected 'IDENT'")
}

// TestInformersOfAPassedFactoryAreNoted passes a factory to a function that uses another informer.
func TestInformersOfAPassedFactoryAreNoted(t *testing.T) {
	before := factoryHeader + "func main() {\nfactory := externalversions.NewSharedInformerFactory(c, 0)\nfactory.Widgets().V1().Widgets().Lister()\nstart(factory)\n}\n" +
		"func start(f externalversions.SharedInformerFactory) { f.Widgets().V1().Gadgets().Lister() }\n"
	m := adoptFiles(t, map[string]string{"main.go": before})
	m.expectNotes("main.go:9: informers of this factory that the function may not use: where it does, make each before its first use: " +
		"widgets.New(generated, generated.Namespace(), generated.TweakListOptions()).V1().Gadgets().Informer()")
}
