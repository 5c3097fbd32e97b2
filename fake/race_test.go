// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package fake_test

// raceDetector reports whether the tests run with the race detector, which slows them tenfold.
const raceDetector = true
