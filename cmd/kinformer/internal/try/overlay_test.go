// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const constructorsOfAFile = `package cache

// A comment.
func NewInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler) (Store, Controller) {
	return nil, nil
}

func (s *store) NewInformerWithOptions() {}

func NewSharedIndexInformerWithOptions(
	lw ListerWatcher,
	exampleObject runtime.Object,
	options SharedIndexInformerOptions,
) SharedIndexInformer {
	return nil
}
`

func TestConstructorsCallTheVariable(t *testing.T) {
	missing := constructors()
	edited, err := editConstructors("x.go", []byte(constructorsOfAFile), missing)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"if KinformerTry.NewInformer != nil { kinformerTryCount('k'); return KinformerTry.NewInformer(lw, objType, resyncPeriod, h) }; kinformerTryCount('c');\n\treturn nil, nil\n",
		"return KinformerTry.NewSharedIndexInformerWithOptions(lw, exampleObject, options) }; kinformerTryCount('c');\n\treturn nil\n",
	} {
		if !strings.Contains(string(edited), text) {
			t.Errorf("%q is not in\n%s", text, edited)
		}
	}
	if want, got := strings.Count(constructorsOfAFile, "\n"), strings.Count(string(edited), "\n"); got != want {
		t.Errorf("%d lines, want %d", got, want)
	}
	if len(missing) != len(constructors())-2 {
		t.Errorf("missing: %v", missing)
	}
}

func TestFilesWithoutConstructorsAreNotEdited(t *testing.T) {
	missing := constructors()
	edited, err := editConstructors("x.go", []byte("package cache\n\nfunc NewStore() Store { return nil }\n"), missing)
	if err != nil || edited != nil || !maps.Equal(missing, constructors()) {
		t.Errorf("error %v, edited %q, missing %v", err, edited, missing)
	}
}

func TestUnknownConstructorIsAnError(t *testing.T) {
	for source, want := range map[string]string{
		"func NewInformerWithOptions(options InformerOptions, more ...Option) (Store, Controller) { return nil, nil }": "edit x.go: function NewInformerWithOptions has the type " +
			"func(InformerOptions, ...Option) (Store, Controller), want func(InformerOptions) (Store, Controller)",
		"func NewInformerWithOptions(_ InformerOptions) (Store, Controller) { return nil, nil }": "edit x.go: parameter of function NewInformerWithOptions without a name",
	} {
		_, err := editConstructors("x.go", []byte("package cache\n\n"+source+"\n"), constructors())
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestMissingConstructorIsAnError(t *testing.T) {
	v := &overlay{folder: t.TempDir(), replace: map[string]string{}}
	v.instrument("/client-go/tools/cache", "/copy")
	if v.err == nil || !strings.Contains(v.err.Error(), "edit /client-go/tools/cache: function NewIndexerInformer not found") {
		t.Errorf("error %v", v.err)
	}
}

// TestOverlayHasTheOptions writes the overlay for a client-go with the constructors and nothing
// else.
func TestOverlayHasTheOptions(t *testing.T) {
	folder, original := t.TempDir(), t.TempDir()
	source := "package cache\n"
	for name, text := range constructors() {
		parameters, results, _ := strings.Cut(strings.TrimPrefix(text, "func("), ")")
		named := ""
		for i, parameter := range strings.Split(parameters, ", ") {
			named += fmt.Sprintf("p%d %s, ", i, parameter)
		}
		source += fmt.Sprintf("func %s(%s) %s { panic(0) }\n", name, named, results)
	}
	mustWrite(t, filepath.Join(original, "tools", "cache", "all.go"), source)
	mustWrite(t, filepath.Join(original, "tools", "cache", "all_test.go"), "package cache\n")
	p := &program{packages: []testPackage{{path: "example.com/a", packageName: "a", dir: "/program/a", hasCache: true}, {path: "example.com/b", dir: "/program/b"}}}
	path, err := writeOverlay(folder, p, original, "/copy", &options{packed: true, omitFields: []string{"metadata.managedFields"}})
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(content, &overlay); err != nil {
		t.Fatal(err)
	}
	want := []string{"/copy/tools/cache/all.go", "/copy/tools/cache/zz_kinformer_try.go", "/program/a/zz_kinformer_try_test.go"}
	if got := slices.Sorted(maps.Keys(overlay.Replace)); !slices.Equal(got, want) {
		t.Fatalf("files %q, want %q", got, want)
	}
	set := token.NewFileSet()
	for _, file := range overlay.Replace {
		if _, err := parser.ParseFile(set, file, nil, 0); err != nil {
			t.Error(err)
		}
	}
	content, err = os.ReadFile(overlay.Replace[want[2]])
	if options := `kinformerTryClientgo.With(kinformerTryClientgo.Options{Packed: true, OmitFields: []string{"metadata.managedFields"}})`; err != nil || !strings.Contains(string(content), options) {
		t.Errorf("error %v, no %s in\n%s", err, options, content)
	}
}

func mustWrite(t *testing.T, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}
