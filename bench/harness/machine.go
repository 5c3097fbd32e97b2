// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

// Conditions returns the machine and its load average. A load above the number of processors means
// that other programs used them.
func Conditions() string { return Machine() + ", load average " + Load() }

// Machine returns the processor and the versions of Go and client-go.
func Machine() string {
	processor, clientGo := runtime.GOARCH, "unknown"
	text, _ := os.ReadFile("/proc/cpuinfo")
	if match := regexp.MustCompile(`(?m)^model name\s*: (.*)$`).FindSubmatch(text); match != nil {
		processor = string(match[1])
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "k8s.io/client-go" {
				clientGo = dep.Version
			}
		}
	}
	return fmt.Sprintf("%s, GOMAXPROCS %d, %s, client-go %s", processor, runtime.GOMAXPROCS(0), runtime.Version(), clientGo)
}

// Load returns the load averages over 1, 5 and 15 minutes, or "unknown".
func Load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); len(fields) > 3 {
		return strings.Join(fields[:3], " ")
	}
	return "unknown"
}
