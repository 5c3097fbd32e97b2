// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

// Size returns the number of writes that the store has.
func (s *ConsistencyStore[K]) Size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}
