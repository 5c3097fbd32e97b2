// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinformer/kinformer/internal/scope"
)

// versionWaiters holds the callers that wait until the store reaches a resourceVersion.
type versionWaiters struct {
	n atomic.Int32 // number of waiting callers, so that a change without them costs no lock

	mu      sync.Mutex // guards waiters
	waiters []*versionWaiter
}

// versionWaiter waits for one resourceVersion. reached is closed once the store has reached it.
type versionWaiter struct {
	version string
	reached chan struct{}
}

// notify wakes the callers whose version is reached. The reflector's goroutine calls it after
// each change.
func (v *versionWaiters) notify(version func() string) {
	if v.n.Load() > 0 {
		v.wake(version())
	}
}

func (v *versionWaiters) wake(version string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := 0 // waiters are sorted by version
	for n < len(v.waiters) && !isBefore(version, v.waiters[n].version) {
		close(v.waiters[n].reached)
		n++
	}
	v.waiters = slices.Delete(v.waiters, 0, n)
}

// add returns a waiter for a version. The caller must compare the store's version afterwards, and
// must call remove in any case.
func (v *versionWaiters) add(version string) *versionWaiter {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := &versionWaiter{version, make(chan struct{})}
	i, _ := slices.BinarySearchFunc(v.waiters, w, func(a, b *versionWaiter) int {
		if isBefore(a.version, b.version) {
			return -1
		}
		return 1
	})
	v.waiters = slices.Insert(v.waiters, i, w)
	v.n.Add(1)
	return w
}

func (v *versionWaiters) remove(w *versionWaiter) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.n.Add(-1)
	if i := slices.Index(v.waiters, w); i >= 0 {
		v.waiters = slices.Delete(v.waiters, i, i+1)
	}
}

// anyVersion is the version of a waiter that every notification wakes.
const anyVersion = ""

// isBefore reports whether version is older than other, which must be valid or anyVersion. A
// version that is empty or cannot be compared is older.
func isBefore(version, other string) bool {
	if other == anyVersion {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err != nil || order < 0
}

var errNoVersion = errors.New("no resourceVersion; objects of client-go's fake clientsets have none without fake.ListerWatcher.Serve")

// WaitForResourceVersion blocks until an event, a bookmark or a list has brought the store to a
// resourceVersion. It returns an error at once if the version is not valid. If ctx ends first or
// the informer stops, the error wraps the context's cause or ErrStopped, and the reflector's last
// error.
func (i *Informer[V]) WaitForResourceVersion(ctx context.Context, version string) error {
	if err := i.checkVersion(version); err != nil {
		return err
	}
	if i.scopes != nil {
		return i.WaitForScopesOf(ctx, version, func(scope.Scope) bool { return true })
	}
	if !isBefore(i.store.ResourceVersion(), version) {
		return nil
	}
	w := i.versions.add(version)
	defer i.versions.remove(w)
	if !isBefore(i.store.ResourceVersion(), version) {
		return nil
	}
	select {
	case <-w.reached:
		return nil
	case <-ctx.Done():
		return i.versionError(version, context.Cause(ctx))
	case <-i.stopped:
		return i.versionError(version, ErrStopped)
	}
}

// checkVersion returns an error for a version that no wait can end with.
func (i *Informer[V]) checkVersion(version string) error {
	if version == "" {
		return fmt.Errorf("%s: wait: %w", i.name, errNoVersion)
	}
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return fmt.Errorf("%s: wait for resourceVersion %q: %w", i.name, version, err)
	}
	return nil
}

func (i *Informer[V]) versionError(version string, cause error) error {
	return i.waitError(fmt.Sprintf("%s is at resourceVersion %q, not yet at %s", i.name, i.store.ResourceVersion(), version), cause)
}
