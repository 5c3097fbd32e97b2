// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster connects to an API server as kubectl does, finds its resources, and makes paced
// requests, one at a time.
package cluster
