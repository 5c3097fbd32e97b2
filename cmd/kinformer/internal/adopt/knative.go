// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import "strings"

// noteInjection notes the first import of a package that puts informers of a factory into the
// context, as in knative.
func (a *adopter) noteInjection(s *source) {
	for _, i := range s.imports {
		client, _, ok := strings.Cut(i.path, "/informers/")
		if !ok || a.injected[client] || s.isTest() || !a.program.isGeneratedBy("injection-gen", i.path) {
			continue
		}
		a.injected[client] = true
		const what = "an injected informer: register kinformer's factory, in a package that each program imports (filtered factories: docs/adopting.md)"
		if client != "knative.dev/pkg/client/injection/kube" {
			a.note(s, i.spec, what, importLine("", client+"/informers/factory"), importLine("", clientgoPath),
				"injection.Default.RegisterInformerFactory(func(ctx context.Context) context.Context {",
				"\tgenerated := clientgo.Generated(factory.Get(ctx), clientgo.Options{})",
				"\tgroup.New(generated, generated.Namespace(), generated.TweakListOptions()).V1().Objects().Informer() // for each informer",
				"\treturn ctx",
				"})")
			continue
		}
		a.note(s, i.spec, what,
			importLine("kubeclient", client+"/client"), importLine("", client+"/informers/factory"), importLine("", "knative.dev/pkg/controller"),
			importLine("", "knative.dev/pkg/injection"), importLine("", clientgoPath+"/informers"),
			"func init() {",
			"\tinjection.Default.RegisterInformerFactory(func(ctx context.Context) context.Context {",
			"\t\tnamespace := informers.WithNamespace(injection.GetNamespaceScope(ctx))",
			"\t\treturn context.WithValue(ctx, factory.Key{}, informers.NewSharedInformerFactoryWithOptions(kubeclient.Get(ctx), controller.GetResyncPeriod(ctx), namespace))",
			"\t})",
			"}")
	}
}
