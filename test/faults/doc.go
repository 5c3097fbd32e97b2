// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package faults has the black-box tests of faults between an informer and an API server: of lists,
// watches, resourceVersions, connections and shutdown. They use the public API, fake servers and
// prepared responses. In the comments, version means resourceVersion.
package faults
