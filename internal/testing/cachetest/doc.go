// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package cachetest is the harness of this module's tests. [Harness] is an informer of Pods on a
// fake server inside a synctest bubble; [NetworkHarness] is an informer that reads over the
// loopback network from a [Script] of prepared responses or from a [Proxy] of an API server. Both
// record events and errors.
package cachetest
