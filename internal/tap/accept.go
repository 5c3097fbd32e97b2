// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package tap

import "strings"

const jsonType, cborType = "application/json", "application/cbor"

// withoutCBOR returns the clauses of an Accept header without those of CBOR, which cannot be split.
// If there are no others, they ask for JSON instead. Their parameters stay, such as the
// representation of the objects that as= selects.
func withoutCBOR(accept string) string {
	var others, replaced []string
	for clause := range strings.SplitSeq(accept, ",") {
		clause = strings.TrimSpace(clause)
		mediaType, _, _ := strings.Cut(clause, ";")
		switch {
		case strings.EqualFold(strings.TrimSpace(mediaType), cborType):
			replaced = append(replaced, jsonType+clause[len(mediaType):])
		case clause != "":
			others = append(others, clause)
		}
	}
	if len(others) == 0 {
		others = replaced
	}
	return strings.Join(others, ",")
}

// accepts reports whether a client with an Accept header accepts the first of some types.
func accepts(accepted, types string) bool {
	first, _, _ := strings.Cut(types, ",")
	for clause := range strings.SplitSeq(accepted, ",") {
		mediaType, _, _ := strings.Cut(clause, ";")
		if mediaType = strings.TrimSpace(mediaType); mediaType == "*/*" || strings.EqualFold(mediaType, first) {
			return true
		}
	}
	return accepted == ""
}
