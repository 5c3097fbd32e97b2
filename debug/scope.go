// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"cmp"
	"slices"

	"github.com/kinformer/kinformer/cache"
)

// maxScopes is the number of scopes that a page shows.
const maxScopes = 100

// scopeStatus is the JSON of a scope of an informer.
type scopeStatus struct {
	Scope            string      `json:"scope"`
	Phase            cache.Phase `json:"phase"`
	Synced           bool        `json:"synced"`
	Objects          int         `json:"objects"`
	ResourceVersion  string      `json:"resourceVersion"`
	StalenessSeconds *float64    `json:"stalenessSeconds,omitempty"`
	Error            string      `json:"error,omitempty"`
}

// scopes returns the first maxScopes scopes of an informer and the number of all: first those with
// an error, then those that have not been listed.
func scopes(view cache.View) (shown []scopeStatus, number int) {
	all := view.ScopeStatus()
	slices.SortStableFunc(all, func(a, b cache.ScopeStatus) int { return cmp.Compare(rank(a), rank(b)) })
	for _, s := range all[:min(len(all), maxScopes)] {
		shown = append(shown, newScopeStatus(s))
	}
	return shown, len(all)
}

func rank(s cache.ScopeStatus) int {
	switch {
	case s.Err != nil:
		return 0
	case !s.Synced:
		return 1
	}
	return 2
}

func newScopeStatus(s cache.ScopeStatus) scopeStatus {
	status := scopeStatus{
		Scope: shorten(s.Scope.String(), maxCause), Phase: s.Phase, Synced: s.Synced,
		Objects: s.Objects, ResourceVersion: s.ResourceVersion,
	}
	if s.Err != nil {
		status.Error = shorten(s.Err.Error(), maxCause)
	}
	if !s.FreshAt.IsZero() {
		seconds := s.Staleness.Seconds()
		status.StalenessSeconds = &seconds
	}
	return status
}
