// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package agreement checks that kinformer cost prints the figures of this module's rows, for the
// same objects. Nothing but its test is in it.
package agreement
