// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package metrics_test

const raceDetector = false
