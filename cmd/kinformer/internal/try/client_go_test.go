// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import "testing"

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
