// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:debug randseednop=0
//go:build !race

package shard

import "math/rand" //nolint:depguard // the source of package wait

// seedJitter lets the delays of the informers be the same each time. They come from math/rand, as
// those of apimachinery's package wait.
func seedJitter() {
	rand.Seed(1)
}
