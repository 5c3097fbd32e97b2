// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"testing"
	"testing/fstest"
)

func TestMemoryIsTheLeastLimit(t *testing.T) {
	const meminfo = "MemTotal:       16777216 kB\nMemFree:        12737076 kB\n" // 16 GiB
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"no cgroup": {nil, 16 << 30},
		"unlimited": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 16 << 30},
		"version 2": {map[string]string{"proc/self/cgroup": "0::/pods/a\n", "sys/fs/cgroup/pods/a/memory.max": "4294967296\n"}, 4 << 30},
		"parent": {map[string]string{
			"proc/self/cgroup": "0::/pods/a\n", "sys/fs/cgroup/pods/a/memory.max": "max\n", "sys/fs/cgroup/pods/memory.max": "1048576\n",
		}, 1 << 20},
		"parent with less": {map[string]string{
			"proc/self/cgroup": "0::/pods/a\n", "sys/fs/cgroup/pods/a/memory.max": "2097152\n", "sys/fs/cgroup/pods/memory.max": "1048576\n",
		}, 1 << 20},
		"root of a container": {map[string]string{"proc/self/cgroup": "0::/outside/a\n", "sys/fs/cgroup/memory.max": "1048576\n"}, 1 << 20},
		"version 1": {map[string]string{
			"proc/self/cgroup": "9:cpu:/x\n4:memory:/a\n0::/\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "2097152\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 2 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{"proc/meminfo": {Data: []byte(meminfo)}}
			for path, text := range c.files {
				root[path] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := memoryOf(root); got != c.want {
				t.Errorf("memoryOf = %d, want %d", got, c.want)
			}
		})
	}
}

func TestMemoryWithoutProcIsAssumed(t *testing.T) {
	if got := memoryOf(fstest.MapFS{}); got != fallback {
		t.Errorf("memoryOf = %d, want %d", got, int64(fallback))
	}
}

func TestMemoryOfThisMachine(t *testing.T) {
	if got := Memory(); got < 64<<20 {
		t.Errorf("Memory() = %d", got)
	}
}
