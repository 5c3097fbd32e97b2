// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package plain

import "testing"

func TestPlain(*testing.T) {}
