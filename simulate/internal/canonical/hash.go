// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// hashes has the hashes of templates, each with the words that replace it. A template with a time
// has another hash in each run.
type hashes map[string]string

// unnumbered are the words for a hash that has no number yet.
const unnumbered = "(hash)"

// hashesOf returns the hashes that are part of names. The revisions of a StatefulSet are replaced
// by what they are to it, other hashes by a number in the order of the content of the objects that
// they name. Equal templates in two Namespaces have one hash: it is replaced by the same words
// everywhere, which no other hash has in a name that is equal otherwise.
func hashesOf(all []*entry, ignored Ignored) hashes {
	h, named := hashes{}, namedHashes(all)
	for _, n := range named {
		if words, ok := h[n.hash]; ok && words != n.words {
			h[n.hash] = unnumbered
		} else {
			h[n.hash] = n.words
		}
	}
	for i := range named {
		named[i].complete(h, ignored)
	}
	slices.SortStableFunc(named, func(a, b namedHash) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.content, b.content))
	})
	h.number(named)
	return h
}

// namedHash is a hash that ends a name.
type namedHash struct {
	hash, words string
	name        string // with the hash at first, and later with the words that replace it
	entry       *entry // the object of the name, or nil if the name is in a status
	content     string // of the object
}

// complete sets the content, and replaces hashes in it and in the name.
func (n *namedHash) complete(h hashes, ignored Ignored) {
	n.name = h.replace(n.name)
	if n.entry != nil {
		n.entry.fields = flatten(n.entry.object, nil, h, ignored)
		n.content = n.entry.content()
	}
}

// namedHashes returns the hashes that end the names of objects, and of the revisions in the status
// of StatefulSets.
func namedHashes(all []*entry) []namedHash {
	var named []namedHash
	words := map[string]string{} // by the names of revisions
	for _, e := range all {
		named = append(named, e.revisions()...)
	}
	for _, n := range named {
		words[n.name] = n.words // the last one for a name that is both
	}
	for _, e := range all {
		if hash := e.hash(); hash != "" {
			named = append(named, namedHash{hash: hash, words: unnumbered, name: e.name, entry: e})
		}
	}
	for i := range named {
		named[i].words = cmp.Or(words[named[i].name], named[i].words)
	}
	return named
}

// revisions returns the revisions in the status of a StatefulSet: the current one, and then that of
// its template.
func (e *entry) revisions() []namedHash {
	if e.object.GetKind() != "StatefulSet" {
		return nil
	}
	var named []namedHash
	for _, field := range []string{"current", "update"} {
		revision, _, _ := unstructured.NestedString(e.object.Object, "status", field+"Revision")
		if hash, ok := strings.CutPrefix(revision, e.object.GetName()+"-"); ok && hash != "" {
			name := "ControllerRevision " + strings.TrimPrefix(e.object.GetNamespace()+"/"+revision, "/")
			named = append(named, namedHash{hash: hash, words: "(" + field + " revision)", name: name})
		}
	}
	return named
}

// number gives the hashes numbers that have no other words.
func (h hashes) number(named []namedHash) {
	namesOf, taken := map[string][]string{}, map[string]bool{}
	for _, n := range named {
		namesOf[n.hash] = append(namesOf[n.hash], n.name)
	}
	for _, n := range named {
		if h[n.hash] != unnumbered {
			continue
		}
		number := 1
		numbered := func(name string) string { return fmt.Sprintf("%s %d", name, number) }
		for slices.ContainsFunc(namesOf[n.hash], func(name string) bool { return taken[numbered(name)] }) {
			number++
		}
		for _, name := range namesOf[n.hash] {
			taken[numbered(name)] = true
		}
		h[n.hash] = fmt.Sprintf("(hash %d)", number)
	}
}

// replace replaces the hashes that stand between hyphens.
func (h hashes) replace(value string) string {
	if len(h) == 0 {
		return value
	}
	parts := strings.Split(value, "-")
	for i, part := range parts {
		if words, ok := h[part]; ok {
			parts[i] = words
		}
	}
	return strings.Join(parts, "-")
}

// hash returns the hash that ends the object's name, if one does: that of a ReplicaSet or a
// ControllerRevision.
func (e *entry) hash() string {
	for _, label := range []string{appsv1.DefaultDeploymentUniqueLabelKey, appsv1.ControllerRevisionHashLabelKey, "controller.kubernetes.io/hash"} {
		if hash := e.object.GetLabels()[label]; hash != "" && strings.HasSuffix(e.object.GetName(), "-"+hash) && !e.generated() {
			return hash
		}
	}
	return ""
}
