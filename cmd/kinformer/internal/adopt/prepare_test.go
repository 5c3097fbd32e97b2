// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/pullrequest"
)

const configHeader = `package main

import (
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/cache"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func start() error {
`

// manager is a call of which the informers do not stream by the import alone.
const manager = "\tctrl.NewManager(c, ctrl.Options{Cache: ctrlcache.Options{NewInformer: f}})\n"

// TestConfigsArePreparedWhereTheyAreUsable checks that EnableStreaming follows a config, and the
// check of the error that comes with it.
func TestConfigsArePreparedWhereTheyAreUsable(t *testing.T) {
	const prepare = "cache.EnableStreaming(config)"
	for name, test := range map[string]struct {
		body     string
		edits    []string
		byHand   bool
		streamed bool
	}{
		"one result":             {"config := ctrl.GetConfigOrDie()\n", []string{prepare}, false, true},
		"a checked error":        {"config, err := rest.InClusterConfig()\nif err != nil {\nreturn err\n}\n", []string{prepare}, false, true},
		"the end of the process": {"config, err := clientcmd.BuildConfigFromFlags(a, b)\nif err != nil {\nklog.FlushAndExit(klog.ExitFlushTimeout, 1)\n}\n", []string{prepare}, false, true},
		"a method":               {"config, err := loader.ClientConfig()\nif err != nil {\npanic(err)\n}\n", []string{prepare}, false, true},
		"an argument":            {"use(ctrl.GetConfigOrDie())\n", []string{"config := ctrl.GetConfigOrDie()", prepare, "use(config)"}, false, true},
		"an unchecked error":     {"config, err := rest.InClusterConfig()\nuse(config)\n", nil, true, false},
		"a check that goes on":   {"config, err := rest.InClusterConfig()\nif err != nil {\nlog(err)\n}\n", nil, true, false},
		"a check for success":    {"config, err := rest.InClusterConfig()\nif err == nil {\nreturn use(config)\n}\n", nil, true, false},
		"a check of another":     {"config, _ := rest.InClusterConfig()\nif done {\nreturn nil\n}\n", nil, true, false},
		"several conditions":     {"config, err := rest.InClusterConfig()\nif off || (err != nil) {\nreturn err\n}\n", []string{prepare}, false, true},
		"a comment":              {"config := ctrl.GetConfigOrDie() // of the cluster\n", []string{"// of the cluster", prepare}, false, true},
		"an else":                {"if off {\n} else if use(ctrl.GetConfigOrDie()) {\n}\n", nil, true, false},
		"a second operand":       {"ok := on && use(ctrl.GetConfigOrDie())\n", nil, true, false},
		"a result":               {"if fast { return clientcmd.RESTConfigFromKubeConfig(a) }\n", nil, true, false},
		"several":                {"config := ctrl.GetConfigOrDie()\nf(rest.InClusterConfig)\nother, err := rest.InClusterConfig()\n", []string{prepare}, true, false},
		"no config":              {"config := own()\n", nil, false, false},
		"prepared already":       {"config := ctrl.GetConfigOrDie()\ncache.EnableStreaming(config)\n", nil, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := configHeader + test.body + manager + "}\n"
			for _, streaming := range []bool{true, false} {
				m, err := adoptWith(t, &options{streaming: streaming}, map[string]string{"main.go": before})
				if err != nil {
					t.Fatal(err)
				}
				if streaming {
					text := m.text("main.go")
					if want := strings.Join(test.edits, "\n"); !strings.Contains(text, want) || (want == "") != (text == before) {
						t.Errorf("no %q in:\n%s", want, text)
					}
					if got := len(m.streaming.NotStreaming) == 0; got != test.streamed {
						t.Errorf("streams: %v", got)
					}
				} else if len(test.edits) > 0 && (len(m.adopter.configs) != 1 || m.text("main.go") != before) {
					t.Errorf("offers %q, and main.go is changed: %v", m.adopter.configs, m.text("main.go") != before)
				}
				if got := len(m.adopter.otherConfigs) > 0; got != test.byHand {
					t.Errorf("by hand: %q", m.adopter.otherConfigs)
				}
			}
		})
	}
}

// TestPackedIsWrittenInEachOption has an informer of each way that takes options.
func TestPackedIsWrittenInEachOption(t *testing.T) {
	before := `package main

import (
	"example.com/clientset/externalversions"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
)

func main() {
	factory := informers.NewSharedInformerFactoryWithOptions(c, 0, informers.WithNamespace(n))
	metadata := metadatainformer.NewSharedInformerFactory(c, 0)
	start(externalversions.NewWidgetInformer(c, "", 0, nil), factory, metadata)
	manager, err := ctrl.NewManager(c, options(cache.ShutDownEventHandler))
	var options ctrl.Options // of the manager
	start(ctrl.NewManager(c, options))
	start(ctrl.NewManager(c, ctrl.Options{Cache: ctrlcache.Options{ // of one namespace
		DefaultNamespaces: n,
	}}))
}
`
	m, err := adoptWith(t, &options{packed: true}, map[string]string{"main.go": before})
	if err != nil {
		t.Fatal(err)
	}
	m.expectEdits(before, `"github.com/kinformer/kinformer/clientgo"`, `kcache "github.com/kinformer/kinformer/clientgo/cache"`,
		"factory := clientgo.With(clientgo.Options{Packed: true}).NewSharedInformerFactoryWithOptions(c, 0, informers.WithNamespace(n))",
		"metadata := clientgo.With(clientgo.Options{Packed: true}).Metadata().NewSharedInformerFactory(c, 0)",
		"start(clientgo.Adopt(externalversions.NewWidgetInformer(c, \"\", 0, nil), clientgo.Options{Packed: true}), factory, metadata)",
		"manager, err := ctrl.NewManager(c, options(kcache.ShutDownEventHandler))", "options.Cache.NewInformer = clientgo.Options{Packed: true}.NewInformer",
		"NewInformer:       clientgo.Options{Packed: true}.NewInformer,")
}

// TestPackedWithoutCopiesIsAnError combines Packed with each form of UnsafeDisableDeepCopy.
func TestPackedWithoutCopiesIsAnError(t *testing.T) {
	for name, test := range map[string]struct {
		body   string
		packed bool // by the flag
		want   string
	}{
		"in the cache":    {"use(ctrlcache.ByObject{UnsafeDisableDeepCopy: &yes})", true, "pack the informers (--packed): main.go:14: "},
		"by default":      {"use(ctrlcache.Options{DefaultUnsafeDisableDeepCopy: &yes})", true, "pack the informers (--packed): main.go:14: "},
		"of a list":       {"c.List(ctx, list, client.UnsafeDisableDeepCopy)", true, "pack the informers (--packed): main.go:14: "},
		"assigned":        {"options.UnsafeDisableDeepCopy = &yes", true, "pack the informers (--packed): main.go:14: "},
		"packed already":  {"use(clientgo.Options{Packed: true})\nuse(ctrlcache.ByObject{UnsafeDisableDeepCopy: &yes})", false, "pack the informers (main.go:14): main.go:15: "},
		"off":             {"use(ctrlcache.ByObject{UnsafeDisableDeepCopy: ptr.To(false)})", true, ""},
		"packed is off":   {"use(clientgo.Options{Packed: false})\nuse(ctrlcache.ByObject{UnsafeDisableDeepCopy: &yes})", false, ""},
		"without packing": {"use(ctrlcache.ByObject{UnsafeDisableDeepCopy: &yes})", false, ""},
	} {
		_, err := adoptWith(t, &options{packed: test.packed}, map[string]string{"main.go": configHeader + test.body + "\n}\n"})
		got := ""
		if errors.Is(err, ErrPackedNotCopied) {
			got, _, _ = strings.Cut(err.Error(), "UnsafeDisableDeepCopy shares")
		}
		if got != test.want {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
}

// TestPackedIsSuggested checks what cost and the code say.
func TestPackedIsSuggested(t *testing.T) {
	const (
		keys = "key, err := cache.MetaNamespaceKeyFunc(obj)\n"
		list = "lister.List(selector)\n"
	)
	cost := &pullrequest.Cost{Resources: []pullrequest.Resource{{Resource: "pods", Choice: "kinformer, packed", SavedBytes: 2_000_000}, {Resource: "nodes", Choice: "kinformer"}}}
	for name, test := range map[string]struct {
		body string
		cost *pullrequest.Cost
		want string
	}{
		"keys":           {keys, nil, "[the named packages use keys and never list objects]"},
		"keys and lists": {keys + list, nil, "[]"},
		"cost":           {list, cost, "[cost chooses packed for pods, which saves 2.00 MB]"},
		"packed already": {keys + "use(clientgo.Options{Packed: true})\n", cost, "[]"},
		"not copied":     {keys + "use(client.UnsafeDisableDeepCopy)\n", cost, "[]"},
	} {
		m, err := adoptWith(t, &options{}, map[string]string{"main.go": configHeader + test.body + "}\n"})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(m.adopter.suggestPacked(test.cost)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
