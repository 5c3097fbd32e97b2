package reader

import (
	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/internal/wire"
)

// PageSize is the number of objects in a page, that of client-go's pager.
const PageSize = 500

// Estimate is what reading a resource is expected to take.
type Estimate struct {
	*cluster.Resource
	Namespace string // or "" for all of them
	// Objects is the number of objects. If Unknown, the server did not say how many there are, but
	// that there is more than one.
	Objects int64
	Unknown bool
	// Bytes is the size of the responses, from that of one object.
	Bytes int64
	// Requests is the number of pages.
	Requests int
}

// EstimateResource requests one object, and from its size and the number of remaining objects
// estimates what all of them take.
func EstimateResource(client Client, resource *cluster.Resource, namespace string) (Estimate, error) {
	e := Estimate{Resource: resource, Namespace: namespace, Requests: 1}
	first, err := readPage(client, resource.Path(namespace), 1, "", func(*wire.Item) error { return nil })
	if err != nil {
		return e, err
	}
	e.Objects = int64(first.items)
	switch remaining := first.Meta.RemainingItemCount; {
	case remaining != nil:
		e.Objects += *remaining
	case first.Meta.Continue != "":
		e.Unknown = true
	}
	e.Bytes = max(e.Objects, 1) * first.bytes
	e.Requests = int(max(1, (e.Objects+PageSize-1)/PageSize))
	return e, nil
}
