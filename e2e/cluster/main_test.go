// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"testing"

	"github.com/kinformer/kinformer/internal/testing/goroutines"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		play(role)
	}
	goroutines.VerifyTestMain(m)
}
