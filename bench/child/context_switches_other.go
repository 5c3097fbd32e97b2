// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package child

// contextSwitches returns zero, as Go has no portable way to read the number.
func contextSwitches() float64 { return 0 }
