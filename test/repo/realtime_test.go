// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// usesRealTime finds what a test needs the machine for: sockets, processes and sleeps. Sleeps and
// servers without ports are found in bubbles, too.
var usesRealTime = regexp.MustCompile(`httptest\.New|net\.Listen\(|exec\.Command|time\.Sleep\(|StartAPIServer\(|NewProxy\(|RunOverNetwork\(|loopback\.Start`)

// TestRealTimePackagesAreListed compares .ci/realtime.mk with the packages of the library whose
// tests use real time.
func TestRealTimePackagesAreListed(t *testing.T) {
	text, err := os.ReadFile(".ci/realtime.mk")
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile(`\./[\w/]+`).FindAllString(string(text), -1)
	var found []string
	for path := range packages(t) {
		if strings.HasPrefix(path, "cmd/") || strings.HasPrefix(path, "test/") {
			continue // make e2e and make test run those one at a time
		}
		files, err := filepath.Glob(filepath.Join(path, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if usesRealTime.Match(source) {
				found = append(found, "./"+path)
				break
			}
		}
	}
	slices.Sort(found)
	if !slices.Equal(listed, found) {
		t.Errorf(".ci/realtime.mk lists\n%s\nthe packages whose tests use real time are\n%s", strings.Join(listed, "\n"), strings.Join(found, "\n"))
	}
}
