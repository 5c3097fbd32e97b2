// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package solr simulates the controller of apache/solr-operator.
package solr
