// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package repo has the tests of the repository itself: what its packages import, that they compile
// with ints of 32 bits, which modules a program gets with them, what its documents name, link to
// and run, how its comments are worded, and the script that prepares a release.
package repo
