// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
)

// ErrMutated reports that a cached object was modified. Every Error unwraps to it.
var ErrMutated = errors.New("cached object was modified")

// Error describes a modified object and the first field that differs.
type Error struct {
	Key  string // "namespace/name", or "name"
	Type string // the Go type
	Difference
}

// Error names the object, the field, and its old and new values.
func (e *Error) Error() string {
	return fmt.Sprintf("cached %s %q was modified: %s was %s, is %s; DeepCopy a cached object before writing into it",
		e.Type, e.Key, e.Path, e.Old, e.New)
}

// Unwrap returns ErrMutated.
func (e *Error) Unwrap() error { return ErrMutated }

// Detector tracks cached objects and reports modified ones. It is safe for concurrent use. A check
// reads objects that a faulty caller may be writing into; such a data race, or fatal error of a
// concurrent map access, identifies that caller.
type Detector struct {
	mu sync.Mutex // guards the fields below
	// current holds the objects in the cache by key. removed holds those that have left it since
	// the last check and that callers may still use.
	current map[string]*trackedObject
	removed []*trackedObject
}

// trackedObject is a cached object and a copy of its original state.
type trackedObject struct {
	key          string
	object, copy runtime.Object
	reported     bool // an Error has been reported
	stored       bool // retain has found the object in the cache
	misses       int  // calls of retain that have not
}

// New returns a Detector that tracks no objects.
func New() *Detector { return &Detector{current: map[string]*trackedObject{}} }

// Add tracks an object in place of any other object with the same key. It must be called before
// readers can obtain the object.
func (d *Detector) Add(key string, object runtime.Object) {
	added := &trackedObject{key: key, object: object, copy: object.DeepCopyObject()}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(key)
	d.current[key] = added
}

// remove stops tracking the object of a key after one more check.
func (d *Detector) remove(key string) {
	if o, ok := d.current[key]; ok {
		delete(d.current, key)
		d.removed = append(d.removed, o)
	}
}

// maxMisses is the number of retain calls that keep an object which has not been stored yet. The
// objects of a list are stored only when the list is complete.
const maxMisses = 300

// retain removes the objects that the cache stores no longer, or has not stored in maxMisses calls.
func (d *Detector) retain(stored func(key string, object runtime.Object) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, o := range d.current {
		switch {
		case stored(key, o.object):
			o.stored = true
		case o.stored || o.misses >= maxMisses:
			d.remove(key)
		default:
			o.misses++
		}
	}
}

// check compares all objects with their copies, including those removed since the last check. It
// returns an *Error for each modified object, sorted by key, and reports each object once.
func (d *Detector) check() []error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []*Error
	for _, o := range d.removed {
		found = o.appendError(found)
	}
	for _, o := range d.current {
		found = o.appendError(found)
	}
	d.removed = nil
	slices.SortFunc(found, func(a, b *Error) int { return strings.Compare(a.Key, b.Key) })
	errs := make([]error, len(found))
	for i, err := range found {
		errs[i] = err
	}
	return errs
}

// appendError appends an Error if the object was modified and that has not been reported yet.
func (o *trackedObject) appendError(found []*Error) []*Error {
	if o.reported {
		return found
	}
	difference, ok := diff(o.copy, o.object)
	if !ok {
		return found
	}
	o.reported = true
	return append(found, &Error{Key: o.key, Type: fmt.Sprintf("%T", o.object), Difference: difference})
}

// Run checks all objects once per period until ctx ends, and then once more. It passes each *Error
// to report. stored reports whether the cache stores an object; the others are dropped after a last
// check.
func (d *Detector) Run(ctx context.Context, clock clock.WithTicker, period time.Duration, stored func(key string, object runtime.Object) bool, report func(error)) {
	ticker := clock.NewTicker(period)
	defer ticker.Stop()
	for done := false; !done; {
		select {
		case <-ticker.C():
		case <-ctx.Done():
			done = true
		}
		d.retain(stored)
		for _, err := range d.check() {
			report(err)
		}
	}
}
