// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package equal_test

// Names of imports, which a test file that the command adds must not use.
var clientgo, toolscache, cache, os = 1, 2, 3, 4

var _ = clientgo + toolscache + cache + os
