// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package pack measures internal/pack alone on the data sets: the bytes of a packed object, and the
// time to pack and to unpack it.
//
//	go test -run=- -bench=. ./pack
package pack
