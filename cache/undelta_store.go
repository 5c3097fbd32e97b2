// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"sync"
)

// UndeltaStore is a Store that passes its whole content to PushFunc after each write, for programs
// that need states and not differences, such as the kubelet's pod sources.
//
// PushFunc receives one state of the store, in a slice that it may keep, after each write that
// succeeds, even one that changes nothing. It is called by one goroutine at a time, and a write
// returns after its push. Concurrent writes may each push the state that has both changes; the last
// push always has the last state.
//
// The objects belong to the store's owner, who may change them: they are neither packed nor shared
// with another store.
type UndeltaStore[T Object] struct {
	*Store[T]
	PushFunc func(objs []T)

	pushing sync.Mutex // orders pushes: held while a state is read and pushed
}

// NewUndeltaStore returns an empty UndeltaStore. pushFunc is required: without it every write is an
// error. A nil keyFunc stands for MetaNamespaceKeyFunc.
func NewUndeltaStore[T Object](pushFunc func(objs []T), keyFunc KeyFunc[T]) *UndeltaStore[T] {
	return &UndeltaStore[T]{Store: NewStore(keyFunc, nil), PushFunc: pushFunc}
}

var (
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

// push makes a change and pushes the state after it. The state is read while pushing is held, so
// that no push shows less than an earlier one.
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

func (u *UndeltaStore[T]) check() error {
	switch {
	case u.PushFunc == nil:
		return errNoPushFunc
	case u.Store == nil:
		return errNoUndeltaBase
	}
	return nil
}
