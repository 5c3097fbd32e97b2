// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	_ "embed" // of podsDiff
	"fmt"
	"slices"
	"strings"
)

// Variant is a way to build prometheus' Kubernetes discovery.
type Variant struct {
	Name  string
	Edits []Edit
}

// Edit is a change of lines in the discovery's source.
type Edit struct {
	File string // empty for every file that is not a test
	Old  string // occurs in the file, unless File is empty; empty for a new file
	New  string
}

// ClientGo is the discovery as it is.
func ClientGo() Variant { return Variant{Name: "client-go"} }

// Adopted imports the constructors of package clientgo/cache instead of client-go's.
func Adopted() Variant {
	return Variant{Name: "adopted", Edits: []Edit{{
		Old: `"k8s.io/client-go/tools/cache"`,
		New: `"github.com/kinformer/kinformer/clientgo/cache"`,
	}}}
}

// Streaming has the constructors in a variable, and its client's config prepared for streaming. The
// option states that the discovery's list and watch functions return the server's response.
func Streaming() Variant { return withOptions("adopted, streaming", "Streaming: true") }

// Packed is Streaming with packed objects.
func Packed() Variant {
	return withOptions("adopted, streaming, packed", "Streaming: true, Packed: true")
}

func withOptions(name, options string) Variant {
	const file = "kubernetes.go"
	return Variant{Name: name, Edits: []Edit{
		{file, "\n\t\"github.com/prometheus/prometheus/discovery\"\n", "\n\tkinformer \"github.com/kinformer/kinformer/cache\"\n" +
			"\t\"github.com/kinformer/kinformer/clientgo\"\n\n\t\"github.com/prometheus/prometheus/discovery\"\n"},
		{file, "\nconst (\n\t// metaLabelPrefix", "\nvar informers = clientgo.With(clientgo.Options{" + options + "})\n\nconst (\n\t// metaLabelPrefix"},
		{file, "\n\tc, err := kubernetes.NewForConfig(kcfg)\n", "\n\tkinformer.EnableStreaming(kcfg)\n\tc, err := kubernetes.NewForConfig(kcfg)\n"},
		{file, "informer := cache.NewSharedInformer(", "informer := informers.NewSharedInformer("},
		{file, "informer := cache.NewSharedIndexInformer(", "informer := informers.NewSharedIndexInformer("},
	}}
}

//go:embed pods.diff
var podsDiff string

// Partial is the discovery with PartialObjects of package cache in its role pod: the fields of Pods
// that become targets, streaming and packed. The other roles, and what the role pod reads of Nodes,
// Namespaces, ReplicaSets and Jobs, have client-go's informers.
func Partial() Variant {
	return Variant{Name: "Pods of a few fields, streaming, packed", Edits: editsOf(podsDiff)}
}

// Variants returns all variants.
func Variants() []Variant { return []Variant{ClientGo(), Adopted(), Streaming(), Packed(), Partial()} }

// files returns the names of a package's files and of those that the variant adds to it.
func (v Variant) files(names []string) []string {
	names = slices.Clone(names)
	for _, edit := range v.Edits {
		if edit.File != "" && edit.Old == "" {
			names = append(names, edit.File)
		}
	}
	return names
}

// apply returns a file's content with the variant's edits. It returns an error if the file lacks
// the text of an edit, which means that the discovery has changed.
func (v Variant) apply(file, content string) (string, error) {
	for _, edit := range v.Edits {
		if edit.File != "" && edit.File != file {
			continue
		}
		if edit.File != "" && strings.Count(content, edit.Old) != 1 {
			return "", fmt.Errorf("edit %s: %q occurs %d times, want once", file, edit.Old, strings.Count(content, edit.Old))
		}
		content = strings.ReplaceAll(content, edit.Old, edit.New)
	}
	return content, nil
}

// Diff is the number of lines that a variant adds and removes, without empty lines.
type Diff struct{ Added, Removed int }

// String returns for instance "+3 −2".
func (d Diff) String() string {
	if d == (Diff{}) {
		return "–"
	}
	return fmt.Sprintf("+%d −%d", d.Added, d.Removed)
}

func (d *Diff) add(before, after string) {
	counts := map[string]int{}
	for line := range strings.Lines(after) {
		counts[line]++
	}
	for line := range strings.Lines(before) {
		counts[line]--
	}
	delete(counts, "\n")
	for _, n := range counts {
		d.Added += max(n, 0)
		d.Removed += max(-n, 0)
	}
}
