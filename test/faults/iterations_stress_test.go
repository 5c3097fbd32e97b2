// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build stress

package faults_test

import "time"

var changeRates = []changeRate{{20 * time.Millisecond, 2}, {30 * time.Second, 24}, {10 * time.Minute, 48}, {2 * time.Hour, 96}}

func sampled(int) bool { return true }
