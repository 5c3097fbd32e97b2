// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// flatten returns the fields of an object by path, with names and hashes replaced in the values,
// and without the ignored ones.
func flatten(obj *unstructured.Unstructured, names map[string]string, hashes hashes, ignored Ignored) map[string]string {
	f := flattener{kind: obj.GetKind(), names: names, hashes: hashes, ignored: ignored, fields: map[string]string{}}
	for key, value := range obj.Object {
		f.add(key, value)
	}
	return f.fields
}

type flattener struct {
	kind    string
	names   map[string]string
	hashes  hashes
	ignored Ignored
	fields  map[string]string
}

// serverFields are set by the server, and differ between runs.
func serverFields() []string {
	return []string{
		"metadata.uid", "metadata.resourceVersion", "metadata.generation", "metadata.managedFields",
		"metadata.creationTimestamp", "metadata.name", "metadata.selfLink",
	}
}

func (f *flattener) add(path string, value any) {
	observed := strings.HasPrefix(path, "status") && strings.HasSuffix(path, ".observedGeneration")
	if slices.Contains(serverFields(), path) || observed || f.ignored.has(f.kind, path) {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			f.add(path+"."+f.named(key), field)
		}
		if len(value) == 0 && isContent(path) {
			f.fields[path] = "{}"
		}
	case []any:
		if len(value) == 0 && isContent(path) {
			f.fields[path] = "[]"
		}
		f.addList(path, value)
	case string:
		f.fields[path] = f.text(value)
		if isReference(path) && f.names[value] == "" {
			f.fields[path] = "(no object)"
		}
	case nil:
	default:
		f.fields[path] = fmt.Sprint(value)
	}
}

// isContent reports whether an empty object or list at a path says something: "ingress: [{}]"
// allows all. In metadata and status it does not.
func isContent(path string) bool {
	return !strings.HasPrefix(path, "metadata") && !strings.HasPrefix(path, "status")
}

// isReference reports whether a path is that of the UID of another object.
func isReference(path string) bool {
	return strings.HasPrefix(path, "metadata.ownerReferences[") && strings.HasSuffix(path, ".uid") ||
		strings.HasSuffix(path, "claimRef.uid") || strings.HasSuffix(path, "involvedObject.uid")
}

// addList adds the items of a list: by their keys where the order says nothing, else by their
// positions.
func (f *flattener) addList(path string, items []any) {
	names, used := itemNames(path, items), map[string]int{}
	for i, item := range items {
		key := f.itemKey(path, i, item)
		if names != nil {
			key = f.text(names[i])
		}
		if used[key]++; used[key] > 1 {
			key = fmt.Sprintf("%s #%d", key, used[key])
		}
		f.add(path+"["+key+"]", item)
	}
}

// itemNames returns the names of the items of a list, or nil unless each has one of its own.
// Programs that make such a list from a Go map write it in any order. Only the order of
// initContainers and env has a meaning.
func itemNames(path string, items []any) []string {
	if path == "metadata.ownerReferences" || strings.HasSuffix(path, ".initContainers") || strings.HasSuffix(path, ".env") {
		return nil
	}
	names := make([]string, 0, len(items))
	for _, item := range items {
		fields, _ := item.(map[string]any)
		name, ok := fields["name"].(string)
		if !ok || slices.Contains(names, name) {
			return nil
		}
		names = append(names, name)
	}
	return names
}

// itemKey returns the key of an item of a list without names.
func (f *flattener) itemKey(path string, i int, item any) string {
	switch item := item.(type) {
	case string:
		if path == "metadata.finalizers" {
			return item
		}
	case map[string]any:
		if path == "metadata.ownerReferences" {
			return fmt.Sprintf("%v %v", item["kind"], f.text(fmt.Sprint(item["name"])))
		}
		if name, ok := item["type"].(string); ok && strings.HasSuffix(path, "onditions") {
			return name
		}
	}
	return strconv.Itoa(i)
}

// text returns a string value with names and hashes replaced, and "(time)" for a time.
func (f *flattener) text(value string) string {
	if name, ok := f.names[value]; ok {
		return name
	}
	if len(value) >= len("2006-01-02T15:04:05Z") && value[4] == '-' {
		if _, err := time.Parse(time.RFC3339Nano, value); err == nil {
			return "(time)"
		}
	}
	return f.hashes.replace(f.named(value))
}

// named returns a text with the UIDs in it replaced by the names of their objects, or the
// replacement of the text itself, which may be a generated name.
func (f *flattener) named(text string) string {
	if name, ok := f.names[text]; ok {
		return name
	}
	return ReplaceUIDs(text, func(uid string) string { return cmp.Or(f.names[uid], uid) })
}

var uids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// lengthOfUID is that of a text which uids matches.
const lengthOfUID = 36

// ReplaceUIDs replaces the UIDs in a text.
func ReplaceUIDs(text string, replacement func(uid string) string) string {
	if len(text) < lengthOfUID {
		return text
	}
	return uids.ReplaceAllStringFunc(text, replacement)
}
