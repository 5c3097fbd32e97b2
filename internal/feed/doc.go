// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package feed declares the interfaces between the stages of the data flow: a source of objects,
// the reflector that drives it, and the sink that stores the objects.
//
//	Source ──Item──▶ reflector ──Item──▶ Sink
//
// A Source lists and watches a collection of the API and passes on each item as it arrives. The
// reflector decides when to list, from which resourceVersion to watch, and how to handle errors. A
// Sink stores the items. Source and Sink do not know each other.
//
// An Item carries either a decoded object or the object's bytes as received, so a source that
// decodes and one that does not look the same to the later stages.
package feed
