// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import "strconv"

// baseVersion gives every version ten digits, so that the version in an encoded object can be
// overwritten in place.
const baseVersion = 1_000_000_000

// Version returns the n-th resourceVersion. The i-th object of a set has Version(i) until it is
// changed.
func Version(n int) string { return strconv.Itoa(baseVersion + n) }
