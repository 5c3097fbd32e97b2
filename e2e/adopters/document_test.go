package adopters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAdoptingDocumentCompiles checks the types of every block of Go in docs/adopting.md. A block
// has lines of a program before and after it adopts kinformer, and lines that stay, or lines of a
// program that has adopted it.
func TestAdoptingDocumentCompiles(t *testing.T) {
	document, err := os.ReadFile("../../docs/adopting.md")
	if err != nil {
		t.Fatal(err)
	}
	var sources []*ast.File
	files := token.NewFileSet()
	for i, block := range codeBlocks(string(document)) {
		before, after := block.programs()
		for which, source := range map[string]string{"before": before, "after": after} {
			name := fmt.Sprintf("block %d, %s", i+1, which)
			parsed, err := parser.ParseFile(files, name, source, 0)
			if err != nil {
				t.Errorf("%v\n%s", err, source)
				continue
			}
			sources = append(sources, parsed)
		}
	}
	if len(sources) < 20 {
		t.Errorf("%d programs, want at least 20", len(sources))
	}
	imports, err := newImporter(t, files, sources)
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		config := types.Config{Importer: imports, Error: func(err error) {
			if failed := (types.Error{}); errors.As(err, &failed) && failed.Soft {
				return // an unused variable or import
			}
			t.Error(err)
		}}
		_, _ = config.Check("document", files, []*ast.File{source}, nil) // Error has reported it
	}
}

// block is a block of Go in a document.
type block string

func codeBlocks(document string) (blocks []block) {
	for _, match := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(document, -1) {
		blocks = append(blocks, block(match[1]))
	}
	return blocks
}

// programs returns the programs before and after the adoption.
func (b block) programs() (before, after string) {
	changed, both, _ := strings.Cut(string(b), "// in both\n")
	first, second, ok := strings.Cut(changed, "// after\n")
	if !ok {
		return program(""), program(changed)
	}
	return program(strings.TrimPrefix(first, "// before\n") + both), program(second + both)
}

// program returns a source file with lines of a program: imports and functions at the top,
// statements in a function. Imports that they lack, and variables, are those of the document.
func program(lines string) string {
	var imports, functions, statements strings.Builder
	to := &statements
	for line := range strings.Lines(lines) {
		if strings.HasPrefix(line, "func ") {
			to = &functions
		}
		if strings.HasPrefix(line, "import ") {
			imports.WriteString(line)
		} else {
			to.WriteString(line)
		}
		if line == "}\n" {
			to = &statements
		}
	}
	return "package document\n" + commonImports + imports.String() + functions.String() +
		"func _(" + commonVariables + ") {\n{\n" + statements.String() + "}\n}\n"
}

const commonImports = `
import (
	"context"
	"fmt"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	certversioned "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientmetadata "k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
)
`

const commonVariables = `ctx context.Context, config *rest.Config, client kubernetes.Interface, dynamicClient dynamic.Interface,
	metadataClient clientmetadata.Interface, certClient certversioned.Interface, namespace string, stop chan struct{},
	lw clientcache.ListerWatcher, store clientcache.Store, informer clientcache.SharedIndexInformer,
	newCertificateInformer func(certversioned.Interface, time.Duration) clientcache.SharedIndexInformer`

// knative has the declarations of knative.dev/pkg that the document uses, by package.
func knative() map[string]string {
	return map[string]string{
		"knative.dev/pkg/client/injection/kube/informers/core/v1/pod": `package pod`,
		"knative.dev/pkg/client/injection/kube/informers/factory":     `package factory; type Key struct{}`,
		"knative.dev/pkg/client/injection/kube/client": `package client
			import ("context"; "k8s.io/client-go/kubernetes")
			func Get(context.Context) kubernetes.Interface { return nil }`,
		"knative.dev/pkg/controller": `package controller
			import ("context"; "time")
			func GetResyncPeriod(context.Context) time.Duration { return 0 }`,
		"knative.dev/pkg/injection": `package injection
			import "context"
			var Default interface { RegisterInformerFactory(func(context.Context) context.Context) }`,
	}
}

// documentImporter imports compiled packages, and those of knative from their declarations.
type documentImporter struct {
	compiled types.Importer
	declared map[string]*types.Package
}

// Import returns a package.
func (i documentImporter) Import(path string) (*types.Package, error) {
	if declared, ok := i.declared[path]; ok {
		return declared, nil
	}
	return i.compiled.Import(path)
}

// newImporter returns an importer of the packages that files import.
func newImporter(t *testing.T, files *token.FileSet, sources []*ast.File) (types.Importer, error) {
	t.Helper()
	paths := map[string]bool{"k8s.io/client-go/kubernetes": true}
	for _, source := range sources {
		for _, spec := range source.Imports {
			if path := strings.Trim(spec.Path.Value, `"`); knative()[path] == "" {
				paths[path] = true
			}
		}
	}
	exports, err := exportFiles(t, slices.Sorted(maps.Keys(paths)))
	if err != nil {
		return nil, err
	}
	i := documentImporter{declared: map[string]*types.Package{}, compiled: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("package %s has no export data", path)
		}
		return os.Open(exports[path])
	})}
	for path, text := range knative() {
		source, err := parser.ParseFile(files, path, text, 0)
		if err != nil {
			return nil, err
		}
		if i.declared[path], err = (&types.Config{Importer: i}).Check(path, files, []*ast.File{source}, nil); err != nil {
			return nil, err
		}
	}
	return i, nil
}

// exportFiles compiles packages. It returns the files with the types of these and of the packages
// that they depend on.
func exportFiles(t *testing.T, paths []string) (map[string]string, error) {
	t.Helper()
	var failure bytes.Buffer
	command := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-export", "-json=ImportPath,Export"}, paths...)...)
	command.Stderr = &failure
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, failure.Bytes())
	}
	exports := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct{ ImportPath, Export string }
		switch err := decoder.Decode(&listed); {
		case errors.Is(err, io.EOF):
			return exports, nil
		case err != nil:
			return nil, err
		}
		exports[listed.ImportPath] = listed.Export
	}
}
