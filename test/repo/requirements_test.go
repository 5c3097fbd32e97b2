// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// leastVersions are the required modules that client-go does not require, each at the least version
// that is sufficient.
var leastVersions = map[string]string{
	"github.com/prometheus/client_golang": "v1.19.0", // the first that does not need github.com/golang/protobuf; package metrics
	"github.com/prometheus/client_model":  "v0.5.0",  // what client_golang requires; so are those below but rapid
	"github.com/prometheus/common":        "v0.48.0",
	"github.com/prometheus/procfs":        "v0.12.0",
	"github.com/beorn7/perks":             "v1.0.1",
	"github.com/cespare/xxhash/v2":        "v2.2.0",
	"pgregory.net/rapid":                  "v1.3.0", // tests
}

// TestRequirementsRaiseNothing checks that go.mod requires what client-go requires, at client-go's
// own versions. A program that requires client-go keeps its modules as they are when it imports
// kinformer.
func TestRequirementsRaiseNothing(t *testing.T) {
	own := requirements(t, "go.mod")
	clientGo := own["k8s.io/client-go"]
	path := strings.TrimSpace(output(t, "go", "mod", "download", "-json", "k8s.io/client-go@"+clientGo))
	var downloaded struct{ GoMod string }
	if err := json.Unmarshal([]byte(path), &downloaded); err != nil {
		t.Fatal(err)
	}
	theirs := requirements(t, downloaded.GoMod)
	theirs["k8s.io/client-go"] = clientGo
	if len(own) < 30 || len(theirs) < 30 {
		t.Fatalf("found %d and %d requirements", len(own), len(theirs))
	}
	for module, version := range own {
		if want, ok := theirs[module]; ok && version != want {
			t.Errorf("go.mod requires %s %s, client-go %s", module, version, want)
		} else if !ok && version != leastVersions[module] {
			t.Errorf("go.mod requires %s %s, leastVersions has %q", module, version, leastVersions[module])
		}
	}
	for module := range leastVersions {
		if _, ok := own[module]; !ok {
			t.Errorf("leastVersions lists %s, which go.mod does not require", module)
		}
	}
}

// TestNestedModuleHasNoReplacement checks that simulate/simulatecr is the same in a program, which
// ignores the directives replace and exclude of the modules that it requires, and the go.work.
func TestNestedModuleHasNoReplacement(t *testing.T) {
	var file struct{ Replace, Exclude []any }
	if err := json.Unmarshal([]byte(output(t, "go", "mod", "edit", "-json", "simulate/simulatecr/go.mod")), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Replace)+len(file.Exclude) > 0 {
		t.Errorf("simulate/simulatecr/go.mod replaces %v and excludes %v", file.Replace, file.Exclude)
	}
	own := requirements(t, "go.mod")
	for module, version := range requirements(t, "simulate/simulatecr/go.mod") {
		if want, ok := own[module]; ok && isWithin(module, "k8s.io") && version != want {
			t.Errorf("simulate/simulatecr/go.mod requires %s %s, go.mod %s", module, version, want)
		}
	}
}

// TestExamplesHaveTheVersionsOfTheLibrary checks that a package which the library and its examples
// import is compiled once.
func TestExamplesHaveTheVersionsOfTheLibrary(t *testing.T) {
	own, shared := requirements(t, "go.mod"), 0
	for module, version := range requirements(t, "examples/go.mod") {
		if want, ok := own[module]; ok {
			shared++
			if version != want {
				t.Errorf("examples/go.mod requires %s %s, go.mod %s", module, version, want)
			}
		}
	}
	if shared < 30 {
		t.Errorf("examples/go.mod has %d modules in common with go.mod", shared)
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
