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
		e.Type, e.Key, e.Path, e.Old, e.New)
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
	current map[string]*trackedObject
	removed []*trackedObject
}

// original is an object and what it was. changed: that it is not any more was reported.
type trackedObject struct {
	key          string
	object, copy runtime.Object
	reported     bool
	stored       bool // Retain has found it in the cache
	misses       int  // how often it has not
}

// New returns a Detector of no objects.
func New() *Detector { return &Detector{current: map[string]*trackedObject{}} }

// Add notes an object that is stored under a key now, in place of any other there.
// The object may be shared from now on, and must be as it ought to be.
func (d *Detector) Add(key string, object runtime.Object) {
	added := &trackedObject{key: key, object: object, copy: object.DeepCopyObject()}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(key)
	d.current[key] = added
}

// Remove notes that nothing is stored under a key any more.
func (d *Detector) Remove(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(key)
}

// depart takes an object out of the cache. It is checked once more.
func (d *Detector) remove(key string) {
	if gone, ok := d.current[key]; ok {
		delete(d.current, key)
		d.removed = append(d.removed, gone)
	}
}

// patience is how often Retain may miss an object that it has not found yet: what was
// added may be of a list that is not in the cache before its end.
const maxMisses = 300

// Retain notes that nothing is stored any more of what is not held: it was once, or
// has never come to be.
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

// Check compares all objects with what they were, also those that have left since
// the last check. It returns an *Error for each that is not the same, in the order
// of their keys, and does so once.
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

// check adds what has become of an object, if that is new.
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

// Run checks every so often, until ctx ends, and then a last time. Each error is
// passed to report. held, if not nil, is for Retain, before each check.
func (d *Detector) Run(ctx context.Context, clock clock.WithTicker, period time.Duration, stored func(key string, object runtime.Object) bool, report func(error)) {
	ticker := clock.NewTicker(period)
	defer ticker.Stop()
	for ended := false; !ended; {
		select {
		case <-ticker.C():
		case <-ctx.Done():
			ended = true
		}
		if stored != nil {
			d.retain(stored)
		}
		for _, err := range d.check() {
			report(err)
		}
	}
}
