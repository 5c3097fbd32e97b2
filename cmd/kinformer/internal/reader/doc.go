// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package reader reads a resource of a cluster once, into memory, with as little load on the
// API server as possible.
//
// An estimate takes one request with limit=1. A read takes pages of 500 objects, one after the
// other. Neither sets resourceVersion. resourceVersion=0 looks cheaper, as the watch cache
// answers it, but kube-apiserver ignores its limit and answers with the whole collection. Unset, it
// is always paged: by etcd, which reads no more than the page, or in recent versions by the watch
// cache. The first page fixes the version of the list; the others carry its continue token.
//
// The values of Secrets are replaced before an object is kept, see secret.go.
package reader
