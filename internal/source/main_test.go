// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"testing"

	"github.com/kinformer/kinformer/internal/testing/goroutines"
)

func TestMain(m *testing.M) { goroutines.VerifyTestMain(m) }
