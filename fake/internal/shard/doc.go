// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package shard parses the shardSelector of list and watch requests.
//
// kube-apiserver parses it as an expression of the Common Expression Language and accepts nothing
// but calls of shardRange, joined by ||. [Parse] reads this subset of the language by itself:
//
//	shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000') || ...
//
// Every selector that it accepts, kube-apiserver accepts too, with the same ranges. It rejects a
// few that kube-apiserver accepts: with parentheses around a call, with comments, with a receiver
// (x.shardRange), or with raw, triple-quoted or escaped strings.
package shard
