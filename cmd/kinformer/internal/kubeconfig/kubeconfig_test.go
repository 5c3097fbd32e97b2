// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package kubeconfig_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/kubeconfig"
)

// valid is a kubeconfig with the current context "here" and one of an unknown cluster.
const valid = `apiVersion: v1
kind: Config
current-context: here
clusters:
- {name: mine, cluster: {server: "http://h"}}
contexts:
- {name: here, context: {cluster: mine}}
- {name: lost, context: {cluster: another}}
`

func write(t *testing.T, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestConfigIsThatOfTheContext(t *testing.T) {
	config, err := kubeconfig.Load(write(t, valid), clientcmd.ConfigOverrides{})
	if err != nil || config.Host != "http://h" {
		t.Errorf("got %v, %v", config, err)
	}
}

func TestErrorsNameFileContextOrCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "missing"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for _, tc := range []struct{ name, file, context, want string }{
		{"missing file", "/no/such/file", "", `read kubeconfig /no/such/file: no such file or directory`},
		{"directory", t.TempDir(), "", `read kubeconfig /\S+: is a directory`},
		{"not YAML", write(t, "a: [b"), "", `malformed kubeconfig: /\S+/config is not a valid kubeconfig: yaml: .*`},
		{"wrong kind", write(t, "{apiVersion: v1, kind: Pod}"), "", `malformed kubeconfig: /\S+/config is not a valid kubeconfig: .*"Pod".*`},
		{
			"empty file", write(t, ""), "",
			`no cluster configured: kubeconfig \(.*/config\) is missing, empty or has no current context, and this process is not in a Pod`,
		},
		{"no kubeconfig", "", "", `no cluster configured: kubeconfig \(.*/missing\) is missing, .*`},
		{"unknown context", write(t, valid), "zzz", `invalid kubeconfig \(.*\): context "zzz" not found, available contexts: here, lost`},
		{"unknown context, no file", "", "zzz", `invalid kubeconfig \(.*\): context "zzz" not found, available contexts: <none>`},
		{"unknown cluster", write(t, valid), "lost", `invalid kubeconfig \(.*\): cluster "another" of context "lost" not found`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := kubeconfig.Load(tc.file, clientcmd.ConfigOverrides{CurrentContext: tc.context})
			if err == nil || !regexp.MustCompile(`^(`+tc.want+`)$`).MatchString(err.Error()) {
				t.Errorf("got error %v, want a match of %s", err, tc.want)
			}
		})
	}
}
