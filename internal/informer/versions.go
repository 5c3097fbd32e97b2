package informer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// versions wakes those who wait for the collection to reach a version.
type versions struct {
	waiting atomic.Int32 // so that a change pays for nobody

	mu   sync.Mutex // guards what follows
	wait []*versionWait
}

// versionWait waits for one version. reached is closed once it is there.
type versionWait struct {
	version string
	reached chan struct{}
}

// moved wakes those who have what they wait for. It is called after each change, from the
// reflector's goroutine.
func (v *versions) moved(version func() string) {
	if v.waiting.Load() > 0 {
		v.wake(version())
	}
}

func (v *versions) wake(version string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := 0 // they stand in the order of their versions
	for n < len(v.wait) && !isBefore(version, v.wait[n].version) {
		close(v.wait[n].reached)
		n++
	}
	v.wait = slices.Delete(v.wait, 0, n)
}

// await returns somebody who waits for a version. Whoever asks looks at the version
// again afterwards, and leaves in any case.
func (v *versions) await(version string) *versionWait {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := &versionWait{version, make(chan struct{})}
	i, _ := slices.BinarySearchFunc(v.wait, w, func(a, b *versionWait) int {
		if isBefore(a.version, b.version) {
			return -1
		}
		return 1
	})
	v.wait = slices.Insert(v.wait, i, w)
	v.waiting.Add(1)
	return w
}

func (v *versions) leave(w *versionWait) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.waiting.Add(-1)
	if i := slices.Index(v.wait, w); i >= 0 {
		v.wait = slices.Delete(v.wait, i, i+1)
	}
}

// isBefore tells whether a collection at a version has not reached another one, which is
// well formed. One that has no version, or none that can be compared, has not.
func isBefore(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err != nil || order < 0
}

// WaitForResourceVersion waits until the store has reached a version of the collection,
// by an event, a bookmark or a list. The error is that of a version which is none, or
// says why the store is not there.
func (i *Informer[V]) WaitForResourceVersion(ctx context.Context, version string) error {
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return fmt.Errorf("%s cannot wait for resourceVersion %q: %w", i.name, version, err)
	}
	if !isBefore(i.store.ResourceVersion(), version) {
		return nil
	}
	w := i.intake.versions.await(version)
	defer i.intake.versions.leave(w)
	if !isBefore(i.store.ResourceVersion(), version) {
		return nil
	}
	select {
	case <-w.reached:
		return nil
	case <-ctx.Done():
		return i.notThere(version, context.Cause(ctx))
	case <-i.stopped:
		return i.notThere(version, ErrStopped)
	}
}

func (i *Informer[V]) notThere(version string, why error) error {
	return i.because(fmt.Sprintf("%s is at resourceVersion %q, not yet at %s", i.name, i.store.ResourceVersion(), version), why)
}
