// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// leastVersions are the modules that metrics/go.mod requires and client-go does not, each at the
// least version that is sufficient. The library's go.mod has no such module.
var leastVersions = map[string]string{
	"github.com/prometheus/client_golang": "v1.19.0", // the first that does not need github.com/golang/protobuf
	"github.com/prometheus/client_model":  "v0.5.0",  // what client_golang requires; so are those below
	"github.com/prometheus/common":        "v0.48.0",
	"github.com/prometheus/procfs":        "v0.12.0",
	"github.com/beorn7/perks":             "v1.0.1",
	"github.com/cespare/xxhash/v2":        "v2.2.0",
}

// TestRequirementsRaiseNothing checks that go.mod requires the first patch release of the oldest
// supported minor of client-go, and what client-go requires at client-go's own versions. A program
// that requires this minor keeps its modules as they are when it imports kinformer.
func TestRequirementsRaiseNothing(t *testing.T) {
	own := requirements(t, "go.mod")
	clientGo := own[clientGoPath]
	if !strings.HasSuffix(clientGo, ".0") {
		t.Errorf("go.mod requires client-go %s, not the first release of its minor", clientGo)
	}
	theirs := requirementsOfClientGo(t, clientGo)
	if len(own) < 30 || len(theirs) < 30 {
		t.Fatalf("found %d and %d requirements", len(own), len(theirs))
	}
	for module, version := range own {
		if want, ok := theirs[module]; ok && version != want {
			t.Errorf("go.mod requires %s %s, client-go %s", module, version, want)
		} else if !ok {
			t.Errorf("go.mod requires %s, client-go does not", module)
		}
	}
	ofMetrics := requirements(t, "metrics/go.mod")
	for path, version := range ofMetrics {
		if _, ok := theirs[path]; !ok && path != module && version != leastVersions[path] {
			t.Errorf("metrics/go.mod requires %s %s, leastVersions has %q", path, version, leastVersions[path])
		}
	}
	for path := range leastVersions {
		if _, ok := ofMetrics[path]; !ok {
			t.Errorf("leastVersions lists %s, which metrics/go.mod does not require", path)
		}
	}
}

// TestOneSetOfVersionsForEachMinor checks that the modules that .ci/run compiles have the oldest or
// the newest supported client-go, and what client-go requires at client-go's own versions.
// Kubernetes' clients are then compiled once for each of the two. Make test-version has the same
// versions, since it requires client-go and nothing else.
func TestOneSetOfVersionsForEachMinor(t *testing.T) {
	oldest, newest := requirements(t, "go.mod")[clientGoPath], requirements(t, "e2e/go.mod")[clientGoPath]
	for path, clientGo := range map[string]string{
		"examples/go.mod":            oldest,
		"test/go.mod":                oldest,
		"metrics/go.mod":             oldest,
		"simulate/simulatecr/go.mod": oldest,
		"cmd/kinformer/go.mod":       oldest,
		"e2e/go.mod":                 newest,
		"bench/go.mod":               newest,
	} {
		own, common := requirements(t, path), 0
		for module, want := range requirementsOfClientGo(t, clientGo) {
			if version, ok := own[module]; ok {
				common++
				if version != want {
					t.Errorf("%s requires %s %s, client-go %s requires %s", path, module, version, clientGo, want)
				}
			}
		}
		if common < 30 {
			t.Errorf("%s has %d modules in common with client-go", path, common)
		}
	}
}

const clientGoPath = "k8s.io/client-go"

// requirementsOfClientGo returns the versions of the modules that a version of client-go requires,
// and of client-go.
func requirementsOfClientGo(t *testing.T, version string) map[string]string {
	t.Helper()
	var downloaded struct{ GoMod string }
	if err := json.Unmarshal([]byte(output(t, "go", "mod", "download", "-json", clientGoPath+"@"+version)), &downloaded); err != nil {
		t.Fatal(err)
	}
	versions := requirements(t, downloaded.GoMod)
	versions[clientGoPath] = version
	return versions
}

// TestNestedModulesHaveNoReplacement checks that the modules that are released with the library are
// the same for their users. A program ignores the directives replace and exclude of the modules
// that it requires, and their go.work, and go install and go run refuse a module with such
// directives.
func TestNestedModulesHaveNoReplacement(t *testing.T) {
	own := requirements(t, "go.mod")
	for _, path := range []string{"metrics/go.mod", "simulate/simulatecr/go.mod", "cmd/kinformer/go.mod"} {
		var file struct{ Replace, Exclude []any }
		if err := json.Unmarshal([]byte(output(t, "go", "mod", "edit", "-json", path)), &file); err != nil {
			t.Fatal(err)
		}
		if len(file.Replace)+len(file.Exclude) > 0 {
			t.Errorf("%s replaces %v and excludes %v", path, file.Replace, file.Exclude)
		}
		for module, version := range requirements(t, path) {
			if want, ok := own[module]; ok && isWithin(module, "k8s.io") && version != want {
				t.Errorf("%s requires %s %s, go.mod %s", path, module, version, want)
			}
		}
	}
}

// TestNestedModulesHaveTheVersionsOfTheLibrary checks that a package which the library, the
// command, the examples and module test import is compiled once.
func TestNestedModulesHaveTheVersionsOfTheLibrary(t *testing.T) {
	own := requirements(t, "go.mod")
	for _, path := range []string{"metrics/go.mod", "examples/go.mod", "test/go.mod", "cmd/kinformer/go.mod"} {
		shared := 0
		for module, version := range requirements(t, path) {
			if want, ok := own[module]; ok {
				shared++
				if version != want {
					t.Errorf("%s requires %s %s, go.mod %s", path, module, version, want)
				}
			}
		}
		if shared < 30 {
			t.Errorf("%s has %d modules in common with go.mod", path, shared)
		}
	}
}

// requirements returns the versions of the modules that a go.mod requires.
func requirements(t *testing.T, path string) map[string]string {
	t.Helper()
	var file struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal([]byte(output(t, "go", "mod", "edit", "-json", path)), &file); err != nil {
		t.Fatal(err)
	}
	versions := make(map[string]string)
	for _, module := range file.Require {
		versions[module.Path] = module.Version
	}
	return versions
}

func output(t *testing.T, command string, arguments ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), command, arguments...).Output()
	if err != nil {
		t.Fatalf("%s %s: %v", command, strings.Join(arguments, " "), err)
	}
	return string(out)
}
