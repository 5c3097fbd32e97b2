// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package decode measures internal/decode alone on the data sets: processor time, garbage
// collection included, and memory of a decoded object.
//
//	go test -run=- -bench=. -benchtime=20000x ./decode
package decode
