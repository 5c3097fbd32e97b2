// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"mime"
	"strings"
)

const jsonType, cborType = "application/json", "application/cbor"

// withoutCBOR returns the clauses of an Accept header without those of CBOR, which cannot be split.
// If there are no others, they ask for JSON instead, with the same parameters: those say which
// representation of the objects the client wants.
func withoutCBOR(accept string) string {
	var others, replaced []string
	for clause := range strings.SplitSeq(accept, ",") {
		mediaType, parameters, err := mime.ParseMediaType(clause)
		if err != nil || mediaType != cborType {
			others = append(others, clause)
			continue
		}
		replaced = append(replaced, mime.FormatMediaType(jsonType, parameters))
	}
	if len(others) == 0 {
		others = replaced
	}
	return strings.Join(others, ",")
}
