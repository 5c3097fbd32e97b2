// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command kinformer shows what a cache of a cluster's resources costs, and tries and adopts
// kinformer's informers in a program.
//
// run.go dispatches to the commands, each of which is a package below internal. docs/command.md
// describes them.
package main
