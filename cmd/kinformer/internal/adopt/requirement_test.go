// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/gomod"
)

// proxy is a module proxy in a folder. The go command has a module cache of the test's own, so that
// no module of the proxy stays in another one.
type proxy struct {
	t   *testing.T
	dir string
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	p := &proxy{t: t, dir: t.TempDir()}
	for name, value := range map[string]string{
		"GOPROXY": "file://" + filepath.ToSlash(p.dir), "GOMODCACHE": t.TempDir(), "GOSUMDB": "off", "GOFLAGS": "-modcacherw", "GOWORK": "off",
		"GOPRIVATE": "", "GONOPROXY": "none", "GOTOOLCHAIN": "local",
	} {
		t.Setenv(name, value)
	}
	return p
}

// publish adds a module with one package in a folder.
func (p *proxy) publish(module, version, folder string, requirements ...string) {
	p.t.Helper()
	gomod := "module " + module + "\n\ngo 1.26.0\n"
	for _, requirement := range requirements {
		gomod += "\nrequire " + requirement + "\n"
	}
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for name, text := range map[string]string{"go.mod": gomod, filepath.Join(folder, "package.go"): "package example\n"} {
		f, err := w.Create(module + "@" + version + "/" + filepath.ToSlash(name))
		if err != nil {
			p.t.Fatal(err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		p.t.Fatal(err)
	}
	base := filepath.Join(p.dir, filepath.FromSlash(module), "@v", version)
	if err := os.MkdirAll(filepath.Dir(base), 0o700); err != nil {
		p.t.Fatal(err)
	}
	for extension, content := range map[string]string{".info": `{"Version":"` + version + `"}`, ".mod": gomod, ".zip": archive.String()} {
		writeFile(p.t, base+extension, content)
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReleasedVersionRaisesClientGo checks that the modules that are released together with
// client-go are raised when kinformer is, which requires a later client-go.
func TestReleasedVersionRaisesClientGo(t *testing.T) {
	p := newProxy(t)
	p.publish(gomod.Kinformer, "v1.2.0", "clientgo", "k8s.io/client-go v0.36.0")
	for _, version := range []string{"v0.35.0", "v0.36.0"} {
		p.publish("k8s.io/client-go", version, "")
		p.publish("k8s.io/metrics", version, "")
	}
	p.publish(runtimePath, "v0.23.1", "")
	p.publish(runtimePath, "v0.24.0", "")
	folder := t.TempDir()
	t.Chdir(t.TempDir())
	writeFile(t, "go.mod", "module example.com/program\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/client-go v0.35.0\n\tk8s.io/metrics v0.35.0\n\tsigs.k8s.io/controller-runtime v0.23.1\n)\n")
	writeFile(t, "main.go", "package main\n\nimport (\n\t_ \"k8s.io/client-go\"\n\t_ \"k8s.io/metrics\"\n\t_ \"sigs.k8s.io/controller-runtime\"\n\n\t_ \""+clientgoPath+"\"\n)\n")
	writeFile(t, "overlay.json", "{}")
	dir, err := download(t.Context(), folder, gomod.Kinformer, "v1.2.0")
	if err != nil {
		t.Fatal(err)
	}
	raised, err := requirement{dir: dir, version: "v1.2.0"}.require(t.Context(), &program{root: ".", progress: io.Discard}, folder, "overlay.json", []string{"./..."}, false)
	if err != nil || !strings.HasPrefix(raised, "k8s.io/client-go is raised from v0.35.0 to v0.36.0.") {
		t.Errorf("%q, %v", raised, err)
	}
	got, err := gomod.Read(t.Context(), filepath.Join(folder, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{gomod.Kinformer: "v1.2.0", "k8s.io/client-go": "v0.36.0", "k8s.io/metrics": "v0.36.0", runtimePath: "v0.24.0"} {
		if got.Version(path) != want {
			t.Errorf("%s %s, want %s", path, got.Version(path), want)
		}
	}
}

// TestRequiredVersionIsKept requires a version of kinformer that is not in the module cache.
func TestRequiredVersionIsKept(t *testing.T) {
	p := newProxy(t)
	p.publish(gomod.Kinformer, "v1.1.0", "clientgo")
	t.Chdir(t.TempDir())
	writeFile(t, "go.mod", "module example.com/program\n\ngo 1.26.0\n\nrequire "+gomod.Kinformer+" v1.1.0\n")
	find := func() (requirement, error) {
		return findKinformer(t.Context(), &program{root: "."}, &options{}, t.TempDir())
	}
	required, err := find()
	if err != nil || !strings.HasSuffix(required.dir, "kinformer@v1.1.0") || required.version != "" {
		t.Errorf("%+v, %v", required, err)
	}
	if _, err := os.Stat("go.sum"); err == nil {
		t.Error("go.sum was written")
	}
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOPROXY", "off")
	if required, err := find(); err == nil || !strings.Contains(err.Error(), "GOPROXY=off") {
		t.Errorf("%+v, %v", required, err)
	}
	const want = "go mod download: github.com/kinformer/kinformer@v1.1.0: module lookup disabled by GOPROXY=off"
	if _, err := download(t.Context(), t.TempDir(), gomod.Kinformer, "v1.1.0"); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
