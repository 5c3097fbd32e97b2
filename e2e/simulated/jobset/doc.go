// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package jobset simulates the controllers of kubernetes-sigs/jobset.
package jobset
