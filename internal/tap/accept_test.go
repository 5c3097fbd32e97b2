// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package tap

import "testing"

func TestAcceptHeaderHasNoCBOR(t *testing.T) {
	const metadata = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	for accept, want := range map[string]string{
		"":                 "",
		"application/json": "application/json",
		"application/json;q=0.9,application/cbor;q=1":  "application/json;q=0.9",
		"application/cbor, */*":                        "*/*",
		"application/cbor,":                            "application/json",
		"application/cbor;q=1;q=2,application/json":    "application/json",
		"application/cbor":                             "application/json",
		"Application/CBOR ;q=0.5":                      "application/json;q=0.5",
		"application/cbor" + metadata:                  "application/json" + metadata,
		"application/cbor,application/json" + metadata: "application/json" + metadata,
		"application/cbor,;broken":                     ";broken",
		"application/cbor-seq,application/cbor":        "application/cbor-seq",
	} {
		if got := withoutCBOR(accept); got != want {
			t.Errorf("of %q it left %q, want %q", accept, got, want)
		}
	}
}
