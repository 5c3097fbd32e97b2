// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program is a module that requires the oldest supported client-go, in a module cache of its own.
type program struct {
	t           *testing.T
	dir         string
	environment []string
}

// newProgram makes a program, which finds the library as released with a version, and other modules
// where the go command of this test has them.
func newProgram(t *testing.T, version string) *program {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	proxy := t.TempDir()
	output(t, "bash", ".ci/module-proxy", proxy, version)
	caches := "file://" + filepath.ToSlash(strings.TrimSpace(output(t, "go", "env", "GOMODCACHE"))) + "/cache/download"
	p := &program{t: t, dir: t.TempDir(), environment: append(os.Environ(),
		"GOPROXY=file://"+filepath.ToSlash(proxy)+","+caches+","+strings.TrimSpace(output(t, "go", "env", "GOPROXY")),
		"GOSUMDB=off", "GOWORK=off", "GOMODCACHE="+t.TempDir(), "GOFLAGS=-mod=mod -modcacherw")}
	p.write("go.mod", "module example.com/program\n\ngo 1.26.0\n\nrequire "+clientGoPath+" "+requirements(t, "go.mod")[clientGoPath]+"\n")
	return p
}

func (p *program) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// run runs the go command in the program and returns its standard output.
func (p *program) run(arguments ...string) string {
	p.t.Helper()
	command := exec.CommandContext(p.t.Context(), "go", arguments...)
	command.Dir, command.Env = p.dir, p.environment
	var messages strings.Builder
	command.Stderr = &messages
	out, err := command.Output()
	if err != nil {
		p.t.Fatalf("go %v: %v\n%s", arguments, err, &messages)
	}
	return string(out)
}

// importing makes the program import a package of informers, lets the go command complete go.mod
// and go.sum, and returns the requirements, the versions in the module graph, and go.sum.
func (p *program) importing(informers string) (required map[string]string, graph map[string]bool, sums string) {
	p.t.Helper()
	p.write("main.go", "package main\n\nimport (\n\t\"k8s.io/client-go/kubernetes\"\n\tinformers \""+informers+"\"\n)\n\nvar (\n\t_ = kubernetes.NewForConfig\n\t_ = informers.NewSharedIndexInformer\n)\n\nfunc main() {}\n")
	p.run("list", "-deps", ".")
	graph = make(map[string]bool)
	for line := range strings.Lines(p.run("mod", "graph")) {
		_, to, _ := strings.Cut(strings.TrimSpace(line), " ")
		graph[to] = true
	}
	text, err := os.ReadFile(filepath.Join(p.dir, "go.sum"))
	if err != nil {
		p.t.Fatal(err)
	}
	return requirements(p.t, filepath.Join(p.dir, "go.mod")), graph, string(text)
}

// TestProgramGetsNoOtherModules gets the library from a module proxy, in a program on the oldest
// supported client-go, and imports package clientgo in place of tools/cache. go.mod and go.sum then
// have no new module but the library, and no other version; nor has the module graph.
func TestProgramGetsNoOtherModules(t *testing.T) {
	const version = "v0.1.0"
	p := newProgram(t, version)
	required, graph, sums := p.importing("k8s.io/client-go/tools/cache")
	p.run("get", module+"@"+version)
	requiredAfter, graphAfter, sumsAfter := p.importing(module + "/clientgo")
	for path, version := range requiredAfter {
		if path != module && required[path] != version {
			t.Errorf("go.mod requires %s %s, before %q", path, version, required[path])
		}
	}
	if requiredAfter[module] != version {
		t.Errorf("go.mod requires kinformer %q", requiredAfter[module])
	}
	for required := range graphAfter {
		if required != module+"@"+version && !graph[required] {
			t.Errorf("%s is new in the module graph", required)
		}
	}
	for line := range strings.Lines(sumsAfter) {
		if !strings.HasPrefix(line, module+" ") && !strings.Contains(sums, line) {
			t.Errorf("new in go.sum: %s", line)
		}
	}
}
