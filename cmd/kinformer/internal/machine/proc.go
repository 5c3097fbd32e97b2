// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// memoryOf returns the memory of a Linux machine, from the files below its root directory.
func memoryOf(root fs.FS) int64 {
	total := int64(fallback)
	for line := range lines(root, "proc/meminfo") {
		var kilobytes int64
		if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &kilobytes); n == 1 {
			total = kilobytes << 10
		}
	}
	for line := range lines(root, "proc/self/cgroup") {
		fields := strings.SplitN(line, ":", 3) // hierarchy, controllers, path
		switch {
		case len(fields) < 3:
		case fields[0] == "0":
			total = min(total, limitOf(root, "sys/fs/cgroup", fields[2], "memory.max"))
		case fields[1] == "memory":
			total = min(total, limitOf(root, "sys/fs/cgroup/memory", fields[2], "memory.limit_in_bytes"))
		}
	}
	return total
}

// limitOf returns the least limit of a cgroup and those above it. A container may see only the root
// of the hierarchy.
func limitOf(root fs.FS, hierarchy, cgroup, file string) int64 {
	least := int64(1 << 62)
	for dir := path.Clean("/" + cgroup); ; dir = path.Dir(dir) {
		for line := range lines(root, path.Join(hierarchy, dir, file)) {
			if limit, err := strconv.ParseInt(line, 10, 64); err == nil && limit > 0 { // not "max"
				least = min(least, limit)
			}
		}
		if dir == "/" {
			return least
		}
	}
}

// lines returns the lines of a file, or none if it cannot be read.
func lines(root fs.FS, name string) func(func(string) bool) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(strings.TrimSpace(string(text)), "\n")
}
