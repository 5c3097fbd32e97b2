// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Omitted are fields to leave out of objects of one type. It is safe for concurrent use.
type Omitted struct {
	paths []*path
	root  *Node // of unstructured objects, without a type
	// jsonUnsupported says that JSON is not edited, because the result would not be that of
	// Without.
	jsonUnsupported bool
	// protobufUnsupported says that protobuf is not edited, because a field to keep has no number.
	protobufUnsupported bool
	metadata            *Omitted // the same of metadata, for metav1.PartialObjectMetadata; nil if there are none
}

// path is a path as the program has written it.
type path struct {
	text     string
	unknown  bool        // the objects' type does not say whether they can have the field
	cutsKept bool        // it leads to parts of what Keep keeps
	found    atomic.Bool // an object had the field; not set by cutting protobuf, whose types are known
}

// markFound records that an object had the field.
func (p *path) markFound() {
	if !p.found.Load() { // a write would take the cache line from the other processors each time
		p.found.Store(true)
	}
}

// maxMembers is the maximum number of members of one object of which parts are omitted: the JSON
// editor has a bit for each.
const maxMembers = 64

var (
	errNeverWritten = errors.New("set NeverWritten as well: an Update of a cached object deletes the field at the server, see the documentation of NeverWritten")
	errUnknownType  = errors.New("the type of the objects is not known: pass an example object")
	errTooMany      = fmt.Errorf("more than %d fields of one object", maxMembers)
)

// Omit returns the fields at paths of objects of a Go type, which is a pointer type. It returns nil
// if there are no paths. With neverWritten, fields other than metadata.managedFields can be
// omitted. The error names each path that cannot, and why.
func Omit(goType reflect.Type, paths []string, neverWritten bool) (*Omitted, error) {
	if len(paths) == 0 {
		return nil, nil //nolint:nilnil // nothing to omit
	}
	if goType == nil {
		return nil, fmt.Errorf("OmitFields: %w", errUnknownType)
	}
	if goType.Implements(reflect.TypeFor[runtime.Unstructured]()) {
		return newOmitted(nil).build(paths, neverWritten)
	}
	return newOmitted(goType.Elem()).build(paths, neverWritten)
}

// Keep is Omit for objects that are never written, and of which only metadata, apiVersion, kind and
// some fields are left. Of the metadata, managedFields is omitted in any case.
func Keep(kept *Partial, paths []string) (*Omitted, error) {
	o := &Omitted{root: kept.Root.clone()}
	if _, err := o.step(o.root, segment{name: metadataName}, join(nil)); err != nil {
		return nil, err
	}
	o.protobufUnsupported = o.root.Type != nil && !IsKubernetes(o.root.Type) && o.root.hasUnnumbered()
	for _, name := range []string{"apiVersion", "kind"} {
		member, err := o.step(o.root, segment{name: name}, join(nil))
		if err != nil {
			return nil, err
		}
		member.whole = true
	}
	if !slices.Contains(paths, managedFieldsPath) {
		paths = append(slices.Clip(paths), managedFieldsPath)
	}
	return o.build(paths, true)
}

// newOmitted returns no fields of objects of a struct type; nil stands for unstructured objects.
func newOmitted(t reflect.Type) *Omitted { return &Omitted{root: &Node{Type: t}} }

// build adds the paths, and completes the trees.
func (o *Omitted) build(paths []string, neverWritten bool) (*Omitted, error) {
	var errs []error
	metadata := newOmitted(reflect.TypeFor[metav1.PartialObjectMetadata]())
	for _, text := range paths {
		segments, err := o.add(text)
		if err == nil && text != managedFieldsPath && !neverWritten {
			err = errNeverWritten
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("OmitFields %q: %w", text, err))
			continue
		}
		if segments[0].name == metadataName {
			_, _ = metadata.add(text) // metadata has the same fields in every type
		}
	}
	if !o.complete(o.root) || !metadata.complete(metadata.root) {
		errs = append(errs, fmt.Errorf("OmitFields: %w", errTooMany))
	}
	if len(metadata.paths) > 0 {
		o.metadata = metadata
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return o, nil
}

// add adds a path, and returns its segments.
func (o *Omitted) add(text string) ([]segment, error) {
	segments, err := parse(text)
	if err == nil {
		err = checkOmittable(segments)
	}
	if err != nil {
		return nil, err
	}
	added, in := &path{text: text, cutsKept: true}, o
	if o.cuts(segments) {
		added.cutsKept, in = false, newOmitted(o.root.Type) // to check the path, of which nothing is left to omit
	}
	if err := in.resolve(segments, added); err != nil {
		return nil, err
	}
	added.unknown = added.unknown && added.cutsKept
	o.paths = append(o.paths, added)
	return segments, nil
}

// cuts reports whether nothing of what Keep keeps is at a path, above or below it.
func (o *Omitted) cuts(segments []segment) bool {
	at := o.root
	for _, s := range segments {
		if !at.keep || at == o.root && s.name == metadataName {
			return false
		}
		if at = at.child(s.name); at == nil {
			return true
		}
	}
	return false
}

// resolve adds a path to the tree.
func (o *Omitted) resolve(segments []segment, added *path) error {
	at := o.root
	for i, s := range segments {
		added.unknown = added.unknown || at.Type == nil && (i > 0 || s.name != metadataName)
		next, err := o.step(at, s, join(segments[:i]))
		if err != nil {
			return err
		}
		at = next
		switch {
		case at.omit != nil:
			return fmt.Errorf("%q omits it already", at.omit.text)
		case at.whole:
			return fmt.Errorf("the type of the cached objects has %s", join(segments[:i+1]))
		}
	}
	if at.keep {
		return errors.New("the type of the cached objects has a field below it")
	}
	if len(at.Children) > 0 {
		return errors.New("another path is below it")
	}
	at.omit = added
	return nil
}

// step is Node.step. Unstructured objects have the metadata of all objects.
func (o *Omitted) step(at *Node, s segment, parent string) (*Node, error) {
	if at.Type == nil && at == o.root && s.name == metadataName {
		return at.addName(s.name, reflect.TypeFor[metav1.ObjectMeta]()), nil
	}
	return at.step(s, parent)
}

// complete sets the members of the nodes in JSON. It reports whether no object has too many.
func (o *Omitted) complete(n *Node) (ok bool) {
	for _, child := range n.Children {
		if !o.complete(child) {
			return false
		}
		o.jsonUnsupported = o.jsonUnsupported || child.behindPointer
		if child.Inline {
			n.members = append(n.members, child.members...)
		} else {
			n.members = append(n.members, child)
		}
	}
	return len(n.members) <= maxMembers
}

// OmitsKept reports whether parts of what Keep keeps are omitted, other than managedFields.
func (o *Omitted) OmitsKept() bool {
	return o != nil && slices.ContainsFunc(o.paths, func(p *path) bool { return p.cutsKept && p.text != managedFieldsPath })
}

// Cuts returns the path of an omitted field that is at, around or below the field with names on the
// way to it. It reports whether there is one.
func (o *Omitted) Cuts(names []string) (omitted string, ok bool) {
	if o == nil {
		return "", false
	}
	at := o.root
	for _, name := range names {
		if at = at.child(name); at == nil {
			return "", false
		}
		if at.omit != nil {
			return at.omit.text, true
		}
	}
	return at.firstOmitted()
}

// firstOmitted returns the path of an omitted field below a node.
func (n *Node) firstOmitted() (path string, ok bool) {
	for _, child := range n.Children {
		if child.omit != nil {
			return child.omit.text, true
		}
		if path, ok = child.firstOmitted(); ok {
			return path, true
		}
	}
	return "", false
}

// OfMetadata returns the omitted fields of metadata, for objects of type
// metav1.PartialObjectMetadata. It returns nil if there are none.
func (o *Omitted) OfMetadata() *Omitted { return o.metadata }

// NotFound returns the paths that no object has had so far, except for those that the objects' type
// has: only a path of unstructured objects may be misspelled, and not in their metadata.
func (o *Omitted) NotFound() (paths []string) {
	if o == nil {
		return nil
	}
	for _, p := range o.paths {
		if p.unknown && !p.found.Load() {
			paths = append(paths, p.text)
		}
	}
	return paths
}

const (
	metadataName      = "metadata"
	managedFieldsName = "managedFields"
	managedFieldsPath = metadataName + "." + managedFieldsName
)

// required are the fields of metadata that cannot be omitted, and why.
var required = map[string]string{ //nolint:gochecknoglobals // constant
	"name":              "it identifies the object",
	"namespace":         "it identifies the object",
	"uid":               "it identifies the object",
	"resourceVersion":   "it identifies the object's state",
	"deletionTimestamp": "it says that the object is being deleted",
	"generation":        "it says which state of the spec the status is about",
	"ownerReferences":   "it says which controller the object belongs to",
}

// checkOmittable returns an error for a path that cannot be omitted from objects of any type.
func checkOmittable(segments []segment) error {
	first, rest := segments[0].name, segments[1:]
	switch {
	case first == "apiVersion" || first == "kind":
		return fmt.Errorf("%s cannot be omitted: it says what the object is", first)
	case first != metadataName:
		return nil
	case len(rest) == 0:
		return errors.New("metadata cannot be omitted: it identifies the object")
	}
	name := rest[0].name
	if reason, ok := required[name]; ok {
		return fmt.Errorf("metadata.%s cannot be omitted: %s", name, reason)
	}
	if name == managedFieldsName && len(rest) > 1 {
		return errors.New("metadata.managedFields can be omitted as a whole only: the server resets a list of which parts are missing")
	}
	return nil
}
