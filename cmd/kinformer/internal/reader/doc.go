// Package reader reads a resource of a cluster once, into memory, with as little load on the
// API server as possible.
//
// An estimate takes one request with limit=1. A read takes pages of 500 objects, one after the
// other. All requests but the first page's, which carry a continue token, leave resourceVersion
// unset. That is not the cheapest request for one object, which would be resourceVersion=0 and
// served from the watch cache, but kube-apiserver ignores the limit of such a request and answers
// with the whole collection. Unset, it is always paged: read from etcd, or from version 1.34 on a
// snapshot of the watch cache.
//
// The values of Secrets are replaced before an object is kept, see secret.go.
package reader
