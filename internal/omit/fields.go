// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package omit

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Fields are fields to omit from objects of one type. It is safe for concurrent use.
type Fields struct {
	goType       reflect.Type
	paths        []*path
	root         *node
	unstructured bool
	// jsonUnsupported says that JSON is not edited, because the result would not be that of
	// Without.
	jsonUnsupported bool
	// protobufUnsupported says that protobuf is not edited, because a field to keep has no number.
	protobufUnsupported bool
	metadata            *Fields // the same of metadata, for metav1.PartialObjectMetadata; nil if there are none
}

// kubernetesPackages is the path prefix of packages whose fields without a number are not encoded.
// The Unmarshal methods of other types may be handwritten.
const kubernetesPackages = "k8s.io/"

var (
	errNeverWritten = errors.New("set NeverWritten as well: an Update of a cached object deletes the field at the server, see the documentation of NeverWritten")
	errUnknownType  = errors.New("the type of the objects is not known: pass an example object")
	errTooMany      = fmt.Errorf("more than %d fields of one object", maxMembers)
)

// New returns the fields at paths of objects of a Go type, which is a pointer type. It returns nil
// if there are no paths. With neverWritten, fields other than metadata.managedFields can be
// omitted. The error names each path that cannot, and why.
func New(goType reflect.Type, paths []string, neverWritten bool) (*Fields, error) {
	if len(paths) == 0 {
		return nil, nil //nolint:nilnil // nothing to omit
	}
	if goType == nil {
		return nil, fmt.Errorf("OmitFields: %w", errUnknownType)
	}
	return newFields(goType).build(paths, neverWritten)
}

// NewKeeping is New for objects that are never written, and of which only metadata, apiVersion,
// kind and the fields at some paths are left: each is the names on the way to a field that the type
// has, or may have. Of the metadata, managedFields is omitted in any case.
func NewKeeping(goType reflect.Type, kept [][]string, paths []string) (*Fields, error) {
	f := newFields(goType)
	f.keep(kept)
	if !slices.Contains(paths, managedFieldsPath) {
		paths = append(slices.Clip(paths), managedFieldsPath)
	}
	return f.build(paths, true)
}

// build adds the paths, and completes the trees.
func (f *Fields) build(paths []string, neverWritten bool) (*Fields, error) {
	var errs []error
	metadata := newFields(reflect.TypeFor[*metav1.PartialObjectMetadata]())
	for _, text := range paths {
		segments, err := f.add(text)
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
	if !f.root.finish() || !metadata.root.finish() {
		errs = append(errs, fmt.Errorf("OmitFields: %w", errTooMany))
	}
	if len(metadata.paths) > 0 {
		f.metadata = metadata
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return f, nil
}

func newFields(goType reflect.Type) *Fields {
	f := &Fields{goType: goType, root: &node{}, unstructured: goType.Implements(reflect.TypeFor[runtime.Unstructured]())}
	if !f.unstructured {
		f.root.goType = goType.Elem()
	}
	return f
}

// add adds a path, and returns its segments.
func (f *Fields) add(text string) ([]segment, error) {
	segments, err := parse(text)
	if err == nil {
		err = checkOmittable(segments)
	}
	if err != nil {
		return nil, err
	}
	added, in := &path{text: text}, f
	if f.cuts(segments) {
		in = newFields(f.goType) // to check the path, of which nothing is left to omit
	}
	if err := in.resolve(segments, added); err != nil {
		return nil, err
	}
	added.unknown = added.unknown && in == f
	f.paths = append(f.paths, added)
	return segments, nil
}

// keep makes the fields at some paths the only ones that are left. See NewKeeping.
func (f *Fields) keep(paths [][]string) {
	for _, names := range slices.Concat([][]string{{"apiVersion"}, {"kind"}}, paths) {
		at := f.root
		for _, name := range names {
			at.keep = true
			at = f.keepStep(at, name)
		}
		at.whole = true
	}
	f.keepStep(f.root, metadataName)
}

// keepStep returns the child of a node with a name that the type has.
func (f *Fields) keepStep(at *node, name string) *node {
	next, _ := f.step(at, segment{name: name}, "")
	if !f.unstructured && !strings.HasPrefix(f.root.goType.PkgPath(), kubernetesPackages) {
		f.protobufUnsupported = f.protobufUnsupported || !at.encodes(next) && name != "apiVersion" && name != "kind"
	}
	return next
}

// cuts reports whether nothing of what NewKeeping keeps is at a path, above or below it.
func (f *Fields) cuts(segments []segment) bool {
	at := f.root
	for _, s := range segments {
		if !at.keep || at == f.root && s.name == metadataName {
			return false
		}
		if at = at.find(s.name); at == nil {
			return true
		}
	}
	return false
}

// OmitsKept reports whether parts of what NewKeeping keeps are omitted, other than managedFields.
func (f *Fields) OmitsKept() bool {
	return f != nil && slices.ContainsFunc(f.paths, func(p *path) bool {
		segments, _ := parse(p.text)
		return p.text != managedFieldsPath && !f.cuts(segments)
	})
}

// Cuts returns the path of an omitted field that is at, around or below the field with names on the
// way to it. It reports whether there is one.
func (f *Fields) Cuts(names []string) (omitted string, ok bool) {
	if f == nil {
		return "", false
	}
	at := f.root
	for _, name := range names {
		if _, at = at.member([]byte(name)); at == nil {
			return "", false
		}
		if at.omit != nil {
			return at.omit.text, true
		}
	}
	return at.firstOmitted()
}

// firstOmitted returns the path of an omitted field below a node.
func (n *node) firstOmitted() (path string, ok bool) {
	for _, child := range n.children {
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
func (f *Fields) OfMetadata() *Fields { return f.metadata }

// NotFound returns the paths that no object has had so far, except for those that the objects' type
// has: only a path of unstructured objects may be misspelled, and not in their metadata.
func (f *Fields) NotFound() (paths []string) {
	if f == nil {
		return nil
	}
	for _, p := range f.paths {
		if p.unknown && !p.found.Load() {
			paths = append(paths, p.text)
		}
	}
	return paths
}
