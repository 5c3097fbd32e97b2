// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !stress

package codec

// Number of random structs for each type of the API. The build tag stress raises it.
const partialsPerType = 1
