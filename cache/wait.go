package cache

import (
	"context"
	"errors"
	"fmt"
)

// WaitForResourceVersion waits until the store has reached a version of the collection:
// until an event, a bookmark or a list has brought it there. A version that is none is an
// error at once. If ctx ends first, or the informer stops, the error says at which version
// the store is, and what stands in the way.
//
// A version is one of this collection's: its own, or one of an object in it. A quiet
// collection is brought up to the versions of others by bookmarks, about once a minute.
func (s *SharedInformer[T]) WaitForResourceVersion(ctx context.Context, resourceVersion string) error {
	if s.invalid != nil {
		return s.invalid
	}
	return s.engine.WaitForResourceVersion(ctx, resourceVersion)
}

// WaitForObject waits until the store has seen a write of obj, which is what the write
// returned: after it, the store holds that state, or what has become of it since. So you
// read your own writes:
//
//	pod, err := client.Create(ctx, pod, metav1.CreateOptions{})
//	err = pods.WaitForObject(ctx, pod)
//	// pods.Store() knows the Pod
//
// An object that the informer does not hold, by its namespace, its selectors or its
// Filter, is an error at once, ErrOutOfScope; which those are is not known of a
// ListerWatcher of your own functions. One that came and could not be stored is
// ErrNotStored. Otherwise it is as WaitForResourceVersion.
func (s *SharedInformer[T]) WaitForObject(ctx context.Context, obj T) error {
	if s.invalid != nil {
		return s.invalid
	}
	key, err := s.store.key(obj)
	if err != nil {
		return fmt.Errorf("%s: %w", s.report.name, err)
	}
	if err := s.outside(obj); err != nil {
		return fmt.Errorf("%s will not see %q: %w", s.report.name, key, err)
	}
	if err := s.engine.WaitForResourceVersion(ctx, obj.GetResourceVersion()); err != nil {
		return err
	}
	if s.engine.Store().IsQuarantined(key) {
		return fmt.Errorf("%s has seen %q at %s, but keeps an older state of it: %w", s.report.name, key, obj.GetResourceVersion(), ErrNotStored)
	}
	return nil
}

// ErrNotStored is returned by WaitForObject for an object whose newest state could not be
// stored: it cannot be decoded, or transformed. The ErrorHandler has been told why.
var ErrNotStored = errors.New("the object's newest state could not be stored")

// outside returns an error if the informer does not hold an object.
func (s *SharedInformer[T]) outside(obj T) (err error) {
	if err := s.scope.check(obj); err != nil {
		return err
	}
	if s.options.Filter == nil {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("filter: panic: %v", r)
		}
	}()
	if !s.options.Filter(obj) {
		return fmt.Errorf("%w: its Filter refuses it", ErrOutOfScope)
	}
	return nil
}
