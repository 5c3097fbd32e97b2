// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package machine

// Memory returns 4 GiB, since the memory of the machine is unknown.
func Memory() int64 { return fallback }
