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

// ErrMutated is what every error of a Check is.
var ErrMutated = errors.New("an object in the cache has been written into")

// Error says which object was written into, and where.
type Error struct {
	Key  string // the object's: "namespace/name", or "name"
	Type string // the object's, in Go
	Difference
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s %q in the cache has been written into: %s was %s, is %s; objects from a cache are everybody's: DeepCopy before writing",
		e.Type, e.Key, e.Path, e.Was, e.Is)
}

// Unwrap makes errors.Is find ErrMutated.
func (e *Error) Unwrap() error { return ErrMutated }

// Detector remembers objects as they are and tells what has become of them. It is
// safe for concurrent use, but for one thing that is its purpose: a Check reads
// what a caller may be writing into, and is then a data race, or the fatal error
// of a map, which names that caller.
type Detector struct {
	mu sync.Mutex // guards the rest
	// current are the objects in the cache, by key; departed were there since the
	// last check, and somebody may have them still.
	current  map[string]*original
	departed []*original
}

// original is an object and what it was. changed: that it is not any more was reported.
type original struct {
	key          string
	object, copy runtime.Object
	changed      bool
	held         bool // Retain has found it in the cache
	missed       int  // how often it has not
}

// New returns a Detector of no objects.
func New() *Detector { return &Detector{current: map[string]*original{}} }

// Add notes an object that is stored under a key now, in place of any other there.
// The object may be shared from now on, and must be as it ought to be.
func (d *Detector) Add(key string, object runtime.Object) {
	added := &original{key: key, object: object, copy: object.DeepCopyObject()}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.depart(key)
	d.current[key] = added
}

// Remove notes that nothing is stored under a key any more.
func (d *Detector) Remove(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.depart(key)
}

// depart takes an object out of the cache. It is checked once more.
func (d *Detector) depart(key string) {
	if gone, ok := d.current[key]; ok {
		delete(d.current, key)
		d.departed = append(d.departed, gone)
	}
}

// patience is how often Retain may miss an object that it has not found yet: what was
// added may be of a list that is not in the cache before its end.
const patience = 300

// Retain notes that nothing is stored any more of what is not held: it was once, or
// has never come to be.
func (d *Detector) Retain(held func(key string, object runtime.Object) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, o := range d.current {
		switch {
		case held(key, o.object):
			o.held = true
		case o.held || o.missed >= patience:
			d.depart(key)
		default:
			o.missed++
		}
	}
}

// Check compares all objects with what they were, also those that have left since
// the last check. It returns an *Error for each that is not the same, in the order
// of their keys, and does so once.
func (d *Detector) Check() []error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []*Error
	for _, o := range d.departed {
		found = o.check(found)
	}
	for _, o := range d.current {
		found = o.check(found)
	}
	d.departed = nil
	slices.SortFunc(found, func(a, b *Error) int { return strings.Compare(a.Key, b.Key) })
	errs := make([]error, len(found))
	for i, err := range found {
		errs[i] = err
	}
	return errs
}

// check adds what has become of an object, if that is new.
func (o *original) check(found []*Error) []*Error {
	if o.changed {
		return found
	}
	difference, ok := Diff(o.copy, o.object)
	if !ok {
		return found
	}
	o.changed = true
	return append(found, &Error{Key: o.key, Type: fmt.Sprintf("%T", o.object), Difference: difference})
}

// Run checks every so often, until ctx ends, and then a last time. Each error is
// passed to report. held, if not nil, is for Retain, before each check.
func (d *Detector) Run(ctx context.Context, clock clock.WithTicker, every time.Duration, held func(key string, object runtime.Object) bool, report func(error)) {
	ticker := clock.NewTicker(every)
	defer ticker.Stop()
	for ended := false; !ended; {
		select {
		case <-ticker.C():
		case <-ctx.Done():
			ended = true
		}
		if held != nil {
			d.Retain(held)
		}
		for _, err := range d.Check() {
			report(err)
		}
	}
}
