// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package try

import "os"

// lowerPeak does nothing.
func lowerPeak() {}

// peakRSS returns 0, for unknown.
func peakRSS(*os.ProcessState) int64 { return 0 }
