// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// Conditions describes in one line where the figures were measured: the processor, the versions of
// Go and client-go, and the load average. A load above the number of processors means that other
// programs used them.
func Conditions() string {
	return fmt.Sprintf("%s, GOMAXPROCS %d, %s, client-go %s, load average %s",
		processor(), runtime.GOMAXPROCS(0), runtime.Version(), version("k8s.io/client-go"), Load())
}

// Load returns the load averages over 1, 5 and 15 minutes, or "unknown".
func Load() string {
	text, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 3 {
		return "unknown"
	}
	return strings.Join(fields[:3], " ")
}

func processor() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "model name"); ok {
			return strings.TrimLeft(name, "\t :")
		}
	}
	return runtime.GOARCH
}

func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == module {
				return dep.Version
			}
		}
	}
	return "unknown"
}
