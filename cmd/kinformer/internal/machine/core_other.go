// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package machine

// DisableCoreDumps does nothing, as there are none.
func DisableCoreDumps() error { return nil }
