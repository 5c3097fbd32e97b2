// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"strings"
	"testing"
)

const streamingHeader = `package main

import (
	kcache "github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/clientgo/cache"
	"github.com/kinformer/kinformer/clientgo/informers"
	"example.com/clientset/externalversions"
	clientinformers "k8s.io/client-go/informers"
	clientcache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	`

// TestInformersThatDoNotStreamAreListed has one informer each, in line 15.
func TestInformersThatDoNotStreamAreListed(t *testing.T) {
	const (
		all       = "1 of 1 informers stream.\n"
		none      = "0 of 1 informers stream. These do not:\nmain.go:15: "
		client    = none + "cache.EnableStreaming(config) before config is used\n"
		functions = none + "list functions of the program: clientgo.With(clientgo.Options{Streaming: true})"
		both      = functions + ", and cache.EnableStreaming(config) before config is used\n"
		edit      = none + "may be client-go's: kinformer adopt prints the lines to write\n"
	)
	for name, test := range map[string]struct{ body, notPrepared, prepared string }{
		"a factory":                     {"clientinformers.NewSharedInformerFactory(c, 0, clientinformers.WithTransform(f))", all, all},
		"a factory of kinformer":        {"informers.NewSharedInformerFactory(c, 0, informers.WithTransform(f))", all, all},
		"a factory with options":        {"clientgo.With(packed).NewSharedInformerFactory(c, 0)", all, all},
		"a factory of metadata":         {"clientgo.With(packed).Metadata().NewSharedInformerFactory(c, 0)", all, all},
		"a variable":                    {"variable := clientgo.With(packed); variable.NewSharedInformerFactory(c, 0)", all, all},
		"a generated factory":           {"f := externalversions.NewSharedInformerFactory(c, 0); f.Widgets().V1().Widgets().Informer()", all, all},
		"passed to Generated":           {"h.f = externalversions.NewSharedInformerFactory(c, 0); clientgo.Generated(h.f, packed)", all, all},
		"a stored factory":              {"h.f = externalversions.NewSharedInformerFactory(c, 0)", edit, edit},
		"an informer of functions":      {"clientcache.NewSharedInformer(lw, nil, 0)", both, functions + "\n"},
		"an informer of kinformer":      {"cache.NewSharedInformer(lw, nil, 0)", both, functions + "\n"},
		"a function as a value":         {"start(clientcache.NewSharedIndexInformer)", both, functions + "\n"},
		"a reflector":                   {"clientcache.NewReflector(lw, nil, store, 0)", both, functions + "\n"},
		"a reflector that streams":      {"clientgo.With(clientgo.Options{Streaming: true}).NewReflector(lw, nil, store, 0)", client, all},
		"with Streaming off":            {"clientgo.With(clientgo.Options{Streaming: false}).NewReflector(lw, nil, store, 0)", both, functions + "\n"},
		"with unknown options":          {"packing.NewReflector(lw, nil, store, 0)", both, functions + "\n"},
		"a variable of another file":    {"streaming.NewReflector(lw, nil, store, 0)", client, all},
		"a generated function":          {"externalversions.NewWidgetInformer(c, \"\", 0, nil)", client, all},
		"an adopted informer":           {"clientgo.Adopt(externalversions.NewWidgetInformer(c, \"\", 0, nil), packed)", client, all},
		"an adopted variable":           {"clientgo.Adopt(informer, packed)", client, all},
		"a manager":                     {"start(ctrl.NewManager(c, ctrl.Options{}))", client, all},
		"a manager with NewInformer":    {"start(ctrl.NewManager(c, ctrl.Options{Cache: ctrlcache.Options{NewInformer: f}}))", client, all},
		"a manager with other options":  {"start(ctrl.NewManager(c,\n options()))", strings.ReplaceAll(edit, ":15", ":16"), strings.ReplaceAll(edit, ":15", ":16")},
		"a controller":                  {"clientcache.New(config)", edit, edit},
		"a typed informer":              {"externalversions.NewTypedWidgetInformer(c, \"\", 0, nil)", edit, edit},
		"a store":                       {"use(clientcache.NewStore(f), cache.NewIndexer(f, nil))", "", ""},
		"another variable of a name":    {"streaming := own; streaming.NewReflector(lw, nil, store, 0)", "", ""},
		"a method of another type":      {"own.NewReflector(lw, nil, store, 0); own().NewReflector(lw, nil, store, 0)", "", ""},
		"an event handler of an import": {"clientcache.ShutDownEventHandler(informer, h)", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for prepare, want := range map[string]string{"": test.notPrepared, "; kcache.EnableStreaming(config)": test.prepared} {
				text := streamingHeader + test.body + prepare + "\n}\n"
				m := adoptFiles(t, map[string]string{
					"main.go": text, "main_test.go": text + "func prepare() { kcache.EnableStreaming(config) }\n",
					"options.go": "package main\n\nimport k \"github.com/kinformer/kinformer/clientgo\"\n\nvar packing, streaming = k.With(packed), k.With(k.Options{Streaming: true})\n",
				})
				var out strings.Builder
				if m.streaming.Print(&out); out.String() != want {
					t.Errorf("prepared by %q:\n%s\nwant:\n%s", prepare, out.String(), want)
				}
			}
		})
	}
}

// TestStreamingOfGeneratedFiles has calls in generated files, which are not edited.
func TestStreamingOfGeneratedFiles(t *testing.T) {
	const body = "package main\n\nimport \"k8s.io/client-go/tools/cache\"\n\nvar first, second = cache.NewSharedInformer(lw, nil, 0), cache.NewSharedInformer(lw, nil, 0)\n"
	for generator, want := range map[string]int{"informer-gen": 0, "injection-gen": 1} { // the first has a note
		m := adoptFiles(t, map[string]string{"main.go": "// Code generated by " + generator + ". DO NOT EDIT.\n\n" + body})
		if m.streaming.Informers != want || len(m.streaming.NotStreaming) != want {
			t.Errorf("%s: %+v, want %d", generator, m.streaming, want)
		}
	}
}

// TestFactoryOfAnUnnamedPackageDoesNotStream makes a factory of a package of the module that was
// not named, so that its InformerFor is not edited.
func TestFactoryOfAnUnnamedPackageDoesNotStream(t *testing.T) {
	h := newHarness(t)
	h.requireKinformer()
	h.write("pkg/informers/externalversions/make.go", "package externalversions\n\nfunc NewSharedInformerFactory() any { return nil }\n")
	h.write("own.go", "package main\n\nimport \"example.com/program/pkg/informers/externalversions\"\n\nvar own = externalversions.NewSharedInformerFactory()\n")
	h.mustRun("--diff", ".")
	if want := "\nown.go:5: may be client-go's: kinformer adopt prints the lines to write\n"; !strings.Contains(h.err.String(), want) {
		t.Errorf("no %q in:\n%s", want, h.err.String())
	}
}
