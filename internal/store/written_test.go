// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "testing"

// A replacement by the program before the first list is no initial state: the store of an informer
// is synced by a list only.
func TestReplaceByTheProgramDoesNotSync(t *testing.T) {
	h := newHarness()
	if err := h.Replace([]any{obj("a/1@7")}, "9"); err != nil {
		t.Fatal(err)
	}
	if _, synced := h.Synced(); synced || h.ResourceVersion() != "" {
		t.Errorf("synced: %v at version %q, want neither", synced, h.ResourceVersion())
	}
	h.expect(t, []string{"add a/1@7"}, "a/1@7")
	h.relist("5", obj("a/1@7"), obj("b/1@3"))
	if _, synced := h.Synced(); !synced || h.ResourceVersion() != "5" {
		t.Errorf("after a list: synced %v at version %q, want 5", synced, h.ResourceVersion())
	}
	h.expect(t, []string{"add b/1@3 (initial)"}, "a/1@7", "b/1@3")
}
