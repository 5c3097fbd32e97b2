package cache

import (
	"errors"
	"sync"
)

// UndeltaStore is a Store that tells the whole content after each change, for
// those who want states and not differences: the kubelet's pod sources, say.
//
// PushFunc gets a consistent state, a slice of its own, once for each change.
// Changes made at the same time may each push the state that has both; the last
// push is always the last state. Pushes come one at a time, and a change returns
// after its push.
//
// Its objects are its owner's: they are kept as they are, not packed and not
// shared with another store, and may be changed by whoever synchronises that.
type UndeltaStore[T Object] struct {
	Store[T]
	PushFunc func(objs []T)

	pushing sync.Mutex // orders pushes: a state is read and pushed under it
}

// NewUndeltaStore returns an empty UndeltaStore. pushFunc is required: without it
// every change is an error. keyFunc nil is MetaNamespaceKeyFunc.
func NewUndeltaStore[T Object](pushFunc func(objs []T), keyFunc KeyFunc[T]) *UndeltaStore[T] {
	return &UndeltaStore[T]{Store: NewStore(keyFunc, nil), PushFunc: pushFunc}
}

var (
	_ Store[Object] = (*UndeltaStore[Object])(nil)

	errNoPushFunc    = errors.New("the UndeltaStore has no PushFunc")
	errNoUndeltaBase = errors.New("the UndeltaStore has no Store")
)

// Add adds or replaces an object and pushes.
func (u *UndeltaStore[T]) Add(obj T) error {
	return u.push(func() error { return u.Store.Add(obj) })
}

// Update adds or replaces an object and pushes.
func (u *UndeltaStore[T]) Update(obj T) error {
	return u.push(func() error { return u.Store.Update(obj) })
}

// Delete removes an object and pushes.
func (u *UndeltaStore[T]) Delete(obj T) error {
	return u.push(func() error { return u.Store.Delete(obj) })
}

// Replace replaces the whole content and pushes once.
func (u *UndeltaStore[T]) Replace(objs []T, resourceVersion string) error {
	return u.push(func() error { return u.Store.Replace(objs, resourceVersion) })
}

// push makes a change and pushes the state after it. The state is read once it is
// this change's turn to push, so no push shows less than the one before it.
func (u *UndeltaStore[T]) push(change func() error) error {
	if err := u.check(); err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	u.pushing.Lock()
	defer u.pushing.Unlock()
	u.PushFunc(u.List())
	return nil
}

// check returns an error if the store was not made as it must be.
func (u *UndeltaStore[T]) check() error {
	switch {
	case u.PushFunc == nil:
		return errNoPushFunc
	case u.Store == nil:
		return errNoUndeltaBase
	}
	return nil
}
