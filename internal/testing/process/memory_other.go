// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package process

// Memory returns zeros, as Go has no portable way to read a process's resident memory.
func Memory() (resident, peak float64, err error) { return 0, 0, nil }
