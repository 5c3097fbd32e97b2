// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !stress

package decode

// Numbers of random rounds and repetitions. The build tag stress raises them.
const (
	objectsPerType = 2
	maxElements    = 2
	mutatedRounds  = 60
	updateRounds   = 4
	decoderRounds  = 3_000
	planRounds     = 20
	decodeRounds   = 2
	jsonDocuments  = 8_000
)
