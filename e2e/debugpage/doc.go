// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package debugpage tests the page of package debug in Chromium: that it works with and without
// JavaScript, by keyboard, in both colour schemes, and without any request to another host. The
// tests are skipped where no browser is installed.
package debugpage
