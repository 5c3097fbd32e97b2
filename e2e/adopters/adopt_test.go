// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopters

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommandAdoptsCertManager runs kinformer adopt on packages of cert-manager, which make
// informers with factories of client-go, with generated functions and with the project's own
// factory. The result compiles.
func TestCommandAdoptsCertManager(t *testing.T) {
	t.Parallel()
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	program, command := filepath.Join(folder, "cert-manager"), filepath.Join(folder, "kinformer")
	run(t, filepath.Join(repository, "cmd", "kinformer"), "go", "build", "-o", command, ".")
	source := strings.TrimSpace(run(t, ".", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager"))
	if err := os.CopyFS(program, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	packages := []string{"./internal/informers", "./pkg/client/informers/externalversions"}

	diff := run(t, program, command, append([]string{"adopt", "--yes", "--kinformer", repository}, packages...)...)

	for _, line := range []string{
		"\tkubeinformers \"github.com/kinformer/kinformer/clientgo/informers\"",
		"\t\"github.com/kinformer/kinformer/clientgo/metadatainformer\"",
		"\treturn clientgo.Adopt(corev1informers.NewSecretInformer(client, bsi.namespace, resyncPeriod, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}), clientgo.Options{})",
		"\tinformer = clientgo.Adopt(newFunc(f.client, resyncPeriod), clientgo.Options{})",
		"\tgithub.com/kinformer/kinformer v0.0.0-00010101000000-000000000000",
	} {
		if !strings.Contains(diff, "\n+"+line+"\n") {
			t.Errorf("the diff has no line %q", line)
		}
	}
	if t.Failed() {
		t.Log(diff)
	}
	run(t, program, "go", append([]string{"vet"}, packages...)...)
}

// run runs a command in a folder, which must succeed, and returns its standard output.
func run(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = folder
	var failure bytes.Buffer
	command.Stderr = &failure
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, failure.Bytes())
	}
	return string(out)
}
