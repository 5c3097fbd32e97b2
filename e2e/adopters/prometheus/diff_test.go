// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnifiedDiffIsEdits converts a diff that changes one file twice and creates another one.
func TestUnifiedDiffIsEdits(t *testing.T) {
	t.Parallel()
	diff := "--- a/a.go\n+++ b/a.go\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -9 +9,2 @@\n nine\n+ten\n" +
		"--- /dev/null\n+++ b/b.go\n@@ -0,0 +1,2 @@\n+new\n+\n"
	v := Variant{Edits: editsOf(diff)}
	want := []Edit{{"a.go", "one\ntwo\n", "one\n2\n"}, {"a.go", "nine\n", "nine\nten\n"}, {"b.go", "", "new\n\n"}}
	if diff := cmp.Diff(want, v.Edits); diff != "" {
		t.Errorf("edits (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a.go", "b.go"}, v.files([]string{"a.go"})); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
