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

// hashes has the hashes of templates, each with the words that replace it. A template with a time has another hash in
// each run.
type hashes map[string]string

// hashesOf returns the hashes that are part of names. The revisions of a StatefulSet are replaced by what they are to it,
// other hashes by a number in the order of the content of the objects that they name.
func hashesOf(all []*entry, ignored Ignored) hashes {
	h := hashes{}
	var named []*entry
	for _, e := range all {
		if hash := e.hash(); hash != "" {
			h[hash] = "(hash)"
			named = append(named, e)
		}
	}
	for _, e := range all {
		h.addRevisions(e.object)
	}
	for _, e := range named {
		e.fields = flatten(e.object, nil, h, ignored)
	}
	slices.SortFunc(named, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(h.replace(a.name), h.replace(b.name)), cmp.Compare(a.content(), b.content()))
	})
	numbers := map[string]int{}
	for _, e := range named {
		if hash, name := e.hash(), h.replace(e.name); h[hash] == "(hash)" {
			numbers[name]++
			h[hash] = fmt.Sprintf("(hash %d)", numbers[name])
		}
	}
	return h
}

// addRevisions adds the revisions that are in the status of a StatefulSet.
func (h hashes) addRevisions(obj *unstructured.Unstructured) {
	if obj.GetKind() != "StatefulSet" {
		return
	}
	for _, field := range []string{"current", "update"} { // the last one names a revision that is both
		revision, _, _ := unstructured.NestedString(obj.Object, "status", field+"Revision")
		if hash, ok := strings.CutPrefix(revision, obj.GetName()+"-"); ok && hash != "" {
			h[hash] = "(" + field + " revision)"
		}
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

// hash returns the hash that ends the object's name, if one does: that of a ReplicaSet or a ControllerRevision.
func (e *entry) hash() string {
	for _, label := range []string{appsv1.DefaultDeploymentUniqueLabelKey, appsv1.ControllerRevisionHashLabelKey, "controller.kubernetes.io/hash"} {
		if hash := e.object.GetLabels()[label]; hash != "" && strings.HasSuffix(e.object.GetName(), "-"+hash) && !e.generated() {
			return hash
		}
	}
	return ""
}
