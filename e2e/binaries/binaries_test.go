// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestVersionFlags(t *testing.T) {
	const in = "-X k8s.io/component-base/version."
	want := in + "gitVersion=v1.36.3 " + in + "gitMajor=1 " + in + "gitMinor=36"
	if got := versionFlags("v1.36.3"); got != want {
		t.Errorf("versionFlags(v1.36.3) = %q, want %q", got, want)
	}
}

// TestCacheKeyFollowsTheModule checks that go.mod and go.sum change the key. Otherwise an old API
// server would be used for a new version.
func TestCacheKeyFollowsTheModule(t *testing.T) {
	const sum = "k8s.io/kubernetes v1.36.3 h1:x\n"
	first := keyOf(t, "module a\n", sum)
	if again := keyOf(t, "module a\n", sum); again != first {
		t.Errorf("the same module has the keys %q and %q", first, again)
	}
	if other := keyOf(t, "module b\n", sum); other == first {
		t.Errorf("another go.mod has the same key %q", other)
	}
	if other := keyOf(t, "module a\n", ""); other == first {
		t.Errorf("another go.sum has the same key %q", other)
	}
}

func keyOf(t *testing.T, mod, sum string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"go.mod": mod, "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key, err := cacheKey(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestKubernetesVersionIsARelease(t *testing.T) {
	module, err := moduleDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kubernetesVersion(t.Context(), module+"/controlplane"); err != nil {
		t.Error(err)
	}
}

// TestBuildReturnsTheAssets checks that KUBEBUILDER_ASSETS replaces the build, and that a folder
// without kube-apiserver is an error.
func TestBuildReturnsTheAssets(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", dir)
	touch(t, dir, "etcd")
	if _, err := Build(t.Context(), t.Output()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without kube-apiserver: %v, want an error that it does not exist", err)
	}
	touch(t, dir, "kube-apiserver")
	set, err := Build(t.Context(), t.Output())
	if want := filepath.Join(dir, "kube-apiserver"); err != nil || set.APIServer() != want {
		t.Errorf("kube-apiserver is %q, %v, want %q", set.APIServer(), err, want)
	}
}

func touch(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
		t.Fatal(err)
	}
}
