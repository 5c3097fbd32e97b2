// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package debug_test

import "time"

// refreshTime is how long the overview may take.
const refreshTime = 50 * time.Millisecond
