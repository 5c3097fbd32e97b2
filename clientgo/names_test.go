// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/clientgo"
)

// clientGoVersions are the supported versions of client-go.
var clientGoVersions = []string{"v0.36.0", "v0.37.2"}

// newNames are exported names of client-go's tools/cache that v0.36 does not have. They are missing
// here, since the package must compile with v0.36.
var newNames = []string{
	"DeletedObject", "MutationCacheOptions", "NewIntegerResourceVersionMutationCacheWithOptions", "NewTypedSharedIndexInformer", "Object",
	"TypedFilteringResourceEventHandler", "TypedIndexFunc", "TypedIndexer", "TypedIndexerFuncToIndexerFunc", "TypedIndexers",
	"TypedIndexersToIndexers", "TypedResourceEventHandler", "TypedResourceEventHandlerDetailedFuncs", "TypedResourceEventHandlerFuncs", "TypedSharedIndexInformer",
}

// TestPackagesHaveClientGoNames compares the exported names of the packages below this one with
// those of client-go's packages, in each supported version.
func TestPackagesHaveClientGoNames(t *testing.T) {
	for _, version := range clientGoVersions {
		root := clientGoSource(t, version)
		for own, path := range map[string]string{
			"cache": "tools/cache", "informers": "informers",
			"dynamicinformer": "dynamic/dynamicinformer", "metadatainformer": "metadata/metadatainformer",
		} {
			names := exportedNames(t, own)
			for _, name := range exportedNames(t, filepath.Join(root, path)) {
				if !slices.Contains(names, name) && !slices.Contains(newNames, name) {
					t.Errorf("%s: package %s does not have %s", version, own, name)
				}
			}
		}
	}
}

// TestConstructorsHaveEachFunction checks that Constructors and MetadataConstructors have a method
// for each function that makes an informer, a store or a reflector of this package.
func TestConstructorsHaveEachFunction(t *testing.T) {
	for _, c := range []struct {
		constructors any
		files        []string
	}{
		{clientgo.Constructors{}, []string{"cache/constructors.go", "informers/informers.go", "dynamicinformer/dynamicinformer.go"}},
		{clientgo.MetadataConstructors{}, []string{"metadatainformer/metadatainformer.go"}},
	} {
		for _, path := range c.files {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(path), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, function := range namesOf(file) {
				_, ok := reflect.TypeOf(c.constructors).MethodByName(function)
				if isConstructor := strings.HasPrefix(function, "New") || strings.HasPrefix(function, "With"); isConstructor && !ok {
					t.Errorf("%T has no method %s", c.constructors, function)
				}
			}
		}
	}
}

// clientGoSource returns the directory of a version of client-go, which it downloads if necessary.
func clientGoSource(t *testing.T, version string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "k8s.io/client-go@"+version).Output()
	if err != nil {
		t.Fatal(err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	return module.Dir
}

// exportedNames returns the exported names of the package in a directory, without its tests.
func exportedNames(t *testing.T, directory string) (names []string) {
	t.Helper()
	for _, file := range parsePackage(t, directory) {
		names = append(names, namesOf(file)...)
	}
	return names
}

// namesOf returns the exported names that a file declares.
func namesOf(file *ast.File) (names []string) {
	for _, declaration := range file.Decls {
		switch declaration := declaration.(type) {
		case *ast.FuncDecl:
			if declaration.Recv == nil {
				names = append(names, declaration.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range declaration.Specs {
				names = append(names, declaredBy(spec)...)
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !ast.IsExported(name) })
}
