// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"

	"github.com/kinformer/kinformer/internal/feed"
)

// Put adds or replaces a value, regardless of its version. In a store with scopes, its entry is one
// of the scope that may hold it; the next list of that scope, if it lacks the value, removes it. It
// returns the error of Config.ScopeOf if no scope may hold the object, two may, as it has no UID,
// or the scopes of the start are not known yet (scope.Set.Of).
func (s *Store) Put(value any) error {
	key, err := s.keyOfValue(value)
	if err != nil {
		return err
	}
	s.writer.Lock()
	defer s.endWrite()
	pair := new(entryPair)
	old, version, err := s.makeOwn(pair, &s.maker, key, &value)
	if err != nil {
		return err
	}
	w := write{kind: update, key: key, old: old, next: &pair.next, server: !s.isFed()}
	s.publishOwn(w, version)
	return nil
}

// Remove deletes the entry under the value's key, if any, whatever its scope.
func (s *Store) Remove(value any) error {
	key, err := s.keyOfValue(value)
	if err != nil {
		return err
	}
	s.writer.Lock()
	defer s.endWrite()
	if old := new(Entry).fromMap(s.entries.Item(key)); old != nil {
		_, version := s.config.Identity(value)
		s.publishOwn(write{kind: deletion, key: key, old: old, server: !s.isFed()}, version)
	}
	return nil
}

// Replace makes values the whole collection, regardless of their versions. On error the store is
// unchanged. A store with scopes cannot be replaced.
func (s *Store) Replace(values []any, resourceVersion string) error {
	if s.isScoped() {
		return errReplaced
	}
	s.lockCommit()
	defer s.unlockCommit()
	r := s.begin(nil, s.deferReport)
	for i := range values {
		key, err := s.keyOfValue(values[i])
		if err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		var pair entryPair
		if _, _, err := s.makeOwn(&pair, &r.maker, key, &values[i]); err != nil {
			return fmt.Errorf("item %d, %q: %w", i, key, err)
		}
		_, existed := r.next.put(key, &pair.next)
		r.repeats = existed || r.repeats
		r.made = append(r.made, key)
	}
	c := &swap{commit: commit{Store: s, list: r, version: resourceVersion}, next: r.next}
	if s.config.Log != nil {
		c.decideAll()
	}
	c.publishState()
	return nil
}

var errReplaced = errors.New("the objects of an informer with scopes cannot be replaced as a whole")

// makeOwn makes the entry of a value that the program writes, in pair.next, and returns the live
// entry and the value's version.
func (s *Store) makeOwn(pair *entryPair, maker *maker, key string, value *any) (old *Entry, version string, err error) {
	uid, version := s.config.Identity(*value)
	own, err := s.scopeOfOwn(key, uid)
	if err != nil {
		return nil, "", err
	}
	old = pair.old.fromMap(s.entries.Item(key))
	maker.scope, maker.written = own, own != nil
	maker.keepsDecoded = false // the caller may modify the value
	defer func() { maker.written = false }()
	item := feed.Item{Key: key, UID: uid, ResourceVersion: version}
	return old, version, s.makeEntry(&pair.next, maker, item, value, old)
}

// scopeOfOwn returns the scope of an object that the program writes, nil if the store has none. It
// makes one for what the program writes before AddScope. The caller holds the writer's lock.
func (s *Store) scopeOfOwn(key, uid string) (*Scope, error) {
	if !s.isScoped() {
		return nil, nil
	}
	name, err := s.config.ScopeOf(namespaceOf(key), nameOf(key), uid)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.scopes.find(name, func(c *Scope) bool { return !c.isRemoved() }); own != nil {
		return own, nil
	}
	return s.scopes.add(&Scope{Name: name, pending: true}), nil
}

// publishOwn publishes a write of the program. A store without a feed is then at the written
// version. The caller holds the writer's lock.
func (s *Store) publishOwn(w write, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.publish(w)
	if !s.isFed() {
		s.moveVersion(newer(s.live.Load().version, version))
	}
}
