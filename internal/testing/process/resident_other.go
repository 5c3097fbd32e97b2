// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

// residentMemory returns zero, as it is unknown.
func residentMemory(int) int64 { return 0 }
