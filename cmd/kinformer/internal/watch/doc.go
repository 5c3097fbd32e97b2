// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package watch shows the objects of a resource as they change, with the columns that kubectl
// prints.
//
// The columns are the server's: for a request that accepts a Table, an API server answers a list,
// and each event of a watch, with the cells of the objects and their metadata. So the objects of
// this informer are the rows themselves, decoded by a ListWatch of two functions. That takes one
// list and one watch, as for any other type, and a row always is of the version in its metadata.
// The alternative, an informer of metadata and a Table for each change, would take a request for
// each event and show rows that are newer than the event.
package watch
