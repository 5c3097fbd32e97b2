// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"runtime"
	"strings"
	"testing"
)

func TestChildIsKilledAboveItsMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the memory of another process is unknown")
	}
	err := Child{Args: []string{"child-blocks"}, Input: "", MaxMemory: 1 << 20}.Run(t.Context(), new(any))
	if err == nil || !strings.HasPrefix(err.Error(), "child process: killed with ") || !strings.HasSuffix(err.Error(), ", as it may take 1 MB on this machine") {
		t.Errorf("error %v, want the bound of the memory", err)
	}
	if err := (Child{Args: []string{"child-echo"}, Input: "", MaxMemory: 1 << 30}).Run(t.Context(), new(any)); err != nil {
		t.Errorf("error %v below the bound", err)
	}
}
