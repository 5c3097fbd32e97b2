// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/internal/wire"
)

// pageSize is the number of objects in a page, that of client-go's pager.
const pageSize = 500

// Estimate is what reading a resource is expected to take.
type Estimate struct {
	*cluster.Resource
	Namespace string // or "" for all of them
	Accept    string // the Accept header of requests
	// Objects is the number of objects. If Unknown, the server did not say how many there are, but
	// that there are more.
	Objects int64
	Unknown bool
	// ContentType is the format of the objects, as in a collection.
	ContentType string
	// Bytes is the size of the responses, if all objects have the size of the first one.
	Bytes int64
	// Requests is the number of pages; none for no objects.
	Requests int
}

// EstimateResource requests one object, and estimates from its size and the number of remaining
// objects what all of them take. Namespace may be empty; accept is an Accept header.
func EstimateResource(client *cluster.Client, resource *cluster.Resource, namespace, accept string) (Estimate, error) {
	e := Estimate{Resource: resource, Namespace: namespace, Accept: accept}
	var bytes int64
	first, err := readPage(client, resource.Path(namespace), 1, "", accept, &bytes, func(item *wire.Item) error {
		clear(item.Raw) // it may be a Secret
		return nil
	})
	if err != nil {
		return e, err
	}
	e.Objects, e.ContentType = int64(first.items), contentType(first.format)
	switch remaining := first.Meta.RemainingItemCount; {
	case remaining != nil:
		e.Objects += *remaining
	case first.Meta.Continue != "":
		e.Objects, e.Unknown = e.Objects+1, true
	}
	e.Bytes = e.Objects * bytes
	e.Requests = int((e.Objects + pageSize - 1) / pageSize)
	return e, nil
}

// IsRefusal reports whether an error of EstimateResource is about one resource: a status other than
// Unauthorized, an answer that cannot be read, or none in time, as of a conversion webhook that
// hangs. Others are about the connection or the credentials, or end the command.
func IsRefusal(err error) bool {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return status.ErrStatus.Code != http.StatusUnauthorized
	}
	_, invalid := errors.AsType[invalidAnswerError](err)
	return invalid || errors.Is(err, cluster.ErrNoAnswer)
}
