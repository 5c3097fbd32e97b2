// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "runtime"

// Abandon prevents further calls of Decode and Report: Apply and replacements end their goroutine
// instead, by runtime.Goexit, and change nothing. It is for an informer that has stopped while a
// function of the program blocks. Writes of the program are not affected.
func (s *Store[V]) Abandon() { s.abandoned.Store(true) }

// EndIfAbandoned ends the goroutine after Abandon. It is called before and after Decode, and by the
// store's owner before other functions.
func (s *Store[V]) EndIfAbandoned() {
	if s.abandoned.Load() {
		runtime.Goexit()
	}
}
