// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package simulated has what the tests of operators in its folders share, such as objects from
// YAML. README.md says which operators there are, and why.
package simulated
