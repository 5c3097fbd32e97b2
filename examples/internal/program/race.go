// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package program

// race reports whether the test has the race detector.
const race = true
