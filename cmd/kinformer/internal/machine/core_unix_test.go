// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package machine

import (
	"syscall"
	"testing"
)

func TestCoreDumpsAreDisabled(t *testing.T) {
	if err := DisableCoreDumps(); err != nil {
		t.Fatal(err)
	}
	limit := syscall.Rlimit{Cur: 1}
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &limit); err != nil || limit.Cur != 0 {
		t.Errorf("limit %+v, error %v, want 0", limit, err)
	}
}
