// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !stress

package faults_test

// sampled reports whether to test the pairs of a response and an informer whose positions have this
// sum: every third one, so that each response is tested with a third of the informers.
func sampled(positions int) bool { return positions%3 == 0 }
