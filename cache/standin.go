package cache

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kinformer/kinformer/internal/wire"
)

// standInLink marks a stand-in, in a field that servers stopped setting.
const standInLink = "kinformer.invalid/stand-in"

// standIn returns the list that a client is given to read instead of the one that
// was cut: no items, and marked, so that nobody takes it for an empty collection.
func standIn(header wire.ListHeader) []byte {
	header.Meta.SetSelfLink(standInLink)
	if header.Kind == "" { // the list broke before it said; the client's error is not looked at
		header.APIVersion, header.Kind = "v1", "List"
	}
	body, err := header.Empty(wire.JSON)
	if err != nil {
		return nil
	}
	return body
}

// isStandIn tells whether a list is a stand-in.
func isStandIn(list any) bool {
	accessor, err := meta.ListAccessor(list)
	return err == nil && accessor.GetSelfLink() == standInLink
}

// errStandIn is a list that was made of another request's answer.
var errStandIn = errors.New("a transport between client and server answered a list from its cache: put it below EnableStreaming, or let it heed Cache-Control: no-store")
