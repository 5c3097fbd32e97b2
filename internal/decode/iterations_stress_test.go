// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build stress

package decode

// Numbers of random rounds and repetitions under the build tag stress.
const (
	objectsPerType = 6
	maxElements    = 3
	mutatedRounds  = 400
	updateRounds   = 100
	decoderRounds  = 10_000
	planRounds     = 200
	decodeRounds   = 10
	jsonDocuments  = 20_000
)
