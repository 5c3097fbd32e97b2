// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOldClientGoIsRefused(t *testing.T) {
	for version, want := range map[string]string{
		"v0.35.9": "k8s.io/client-go v0.35.9 is older than v0.36.3, the oldest version that kinformer works with; to raise it: go get k8s.io/client-go@v0.36.3 && go mod tidy",
		"v0.36.0": "", // a patch release is raised
		"v0.37.0": "",
		"":        "", // a folder
	} {
		p := &program{modules: map[string]module{clientGo: {version: version}}}
		got := ""
		if err := p.checkClientGo("v0.36.3"); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: error %q, want %q", version, got, want)
		}
	}
}

// TestRefusedProgramsAreTriedAfterTheCommandThatHelps applies what the refusals say.
func TestRefusedProgramsAreTriedAfterTheCommandThatHelps(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("vendor", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("vendor/modules.txt", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	goMod, err := filepath.Abs("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if err := checkEnvironment(goMod, "off", "-tags=x -mod=mod", nil); err != nil {
		t.Error(err)
	}
}
