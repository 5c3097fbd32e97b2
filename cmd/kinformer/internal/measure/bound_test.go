// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/measure"
)

func TestInformerAboveItsMemoryIsAnError(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the memory of another process is unknown")
	}
	_, err := measure.Run(t.Context(), widgets(50_000), measure.ClientGo, 1<<20)
	if err == nil || !strings.HasPrefix(err.Error(), "measure client-go of widgets.example.com: child process: killed with ") {
		t.Errorf("error %v, want the bound of the memory", err)
	}
}
