// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOldClientGoIsRefused(t *testing.T) {
	for _, test := range []struct {
		module module
		want   string
	}{
		{module{version: "v0.35.9"}, "k8s.io/client-go v0.35.9 is older than v0.36.3, the oldest version that kinformer works with; to upgrade it: go get k8s.io/client-go@v0.36.3 && go mod tidy"},
		{module{version: "v0.30.0", replacement: clientGo}, "k8s.io/client-go is replaced by k8s.io/client-go v0.30.0 in go.mod, which is older than v0.36.3, the oldest version that kinformer works with; " +
			"in go.mod, remove the directive replace k8s.io/client-go => k8s.io/client-go v0.30.0, or upgrade it, and those of other modules of Kubernetes"},
		{module{version: "v0.36.0"}, ""}, // a patch release is upgraded
		{module{version: "v0.37.0"}, ""},
		{module{replacement: "../client-go"}, ""},
	} {
		p := &program{modules: map[string]module{clientGo: test.module}}
		got := ""
		if err := p.checkClientGo("v0.36.3"); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%+v: error %q, want %q", test.module, got, test.want)
		}
	}
}

// TestRequirementOfTheProgramRemains requires kinformer where go.mod has a version and a
// replacement. A test binary has no version of its own.
func TestRequirementOfTheProgramRemains(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{"", "require github.com/kinformer/kinformer v0.9.0\n\nreplace github.com/kinformer/kinformer v0.9.0 => ../fork\n"},
		{"/source", "require github.com/kinformer/kinformer v0.9.0\n\nreplace github.com/kinformer/kinformer => /source\n"},
	} {
		goMod := filepath.Join(t.TempDir(), "go.mod")
		const before = "module example.com/program\n\ngo 1.26.0\n\nrequire github.com/kinformer/kinformer v0.9.0\n\nreplace github.com/kinformer/kinformer v0.9.0 => ../fork\n"
		if err := errors.Join(os.WriteFile(goMod, []byte(before), 0o600), require(t.Context(), goMod, test.source)); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(goMod)
		if got := strings.TrimPrefix(string(content), "module example.com/program\n\ngo 1.26.0\n\n"); err != nil || got != test.want {
			t.Errorf("%q: error %v, go.mod:\n%s", test.source, err, got)
		}
	}
}

// TestAdvisedCommandIsAccepted checks an environment that follows the advice of the errors.
func TestAdvisedCommandIsAccepted(t *testing.T) {
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
