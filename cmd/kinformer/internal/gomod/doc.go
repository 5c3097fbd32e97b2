// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package gomod reads and requires modules by the go command, for the commands that work on a
// program's module: try and adopt.
package gomod
