// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package gomod

import (
	"strings"
	"testing"
)

// TestDownloadsAreShown writes lines in parts.
func TestDownloadsAreShown(t *testing.T) {
	var out strings.Builder
	d := &downloads{out: &out}
	for _, part := range []string{"go: down", "loading a v1.0.0\ngo: finding b\n", "go: downloading c v1.0.0\nwarning: x\ngo: downloading d"} {
		if n, err := d.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("%d bytes, error %v", n, err)
		}
	}
	if got := out.String(); got != "go: downloading a v1.0.0\ngo: downloading c v1.0.0\n" {
		t.Errorf("shown: %q", got)
	}
}
