// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow

// Owned returns the number of resources of Informers on which the follower decides.
func (f *Follower) Owned() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	owned := 0
	for _, name := range f.resources {
		if name != allResources {
			owned++
		}
	}
	return owned - len(f.published)
}
