// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import "os"

// Memory returns the memory of the machine in bytes, or the limit of a cgroup of this process if
// that is less.
func Memory() int64 { return memoryOf(os.DirFS("/")) }
