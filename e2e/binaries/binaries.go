// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// modulePath is the module that contains ../controlplane. The go command finds its folder, so that
// another module, such as the benchmarks, can use this package.
const modulePath = "github.com/kinformer/kinformer/e2e"

// programs are the programs to build, each with the name of its file and its main package.
var programs = []struct{ name, pkg string }{ //nolint:gochecknoglobals // a constant table
	{"etcd", "go.etcd.io/etcd/server/v3"},
	{"etcdutl", "go.etcd.io/etcd/etcdutl/v3"},
	{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"},
}

// assetsVariable names a folder with kube-apiserver and etcd, as for the tests of
// controller-runtime.
const assetsVariable = "KUBEBUILDER_ASSETS"

// Set is a folder with the programs of the control plane.
type Set struct{ dir string }

// APIServer returns the path of kube-apiserver.
func (s Set) APIServer() string { return s.path("kube-apiserver") }

// Etcd returns the path of etcd.
func (s Set) Etcd() string { return s.path("etcd") }

// Etcdutl returns the path of etcdutl, which restores snapshots. Programs that were not built may
// lack it.
func (s Set) Etcdutl() string { return s.path("etcdutl") }

// Dir returns the folder.
func (s Set) Dir() string { return s.dir }

func (s Set) path(name string) string { return filepath.Join(s.dir, name) }

// complete reports whether all programs exist. A folder gets its final name only when it is
// complete; checking each file also detects one that was removed.
func (s Set) complete() bool {
	return errors.Join(exists(s.APIServer()), exists(s.Etcd()), exists(s.Etcdutl())) == nil
}

func exists(path string) error {
	_, err := os.Stat(path)
	return err
}

// Build returns the programs. If they do not exist, it builds them, which takes minutes, and writes
// its progress to log. It is safe for concurrent use by several processes: each builds in a
// temporary folder, and the first to finish renames it. If the environment variable
// KUBEBUILDER_ASSETS is set, Build returns the programs of that folder instead.
func Build(ctx context.Context, log io.Writer) (Set, error) {
	if dir := os.Getenv(assetsVariable); dir != "" {
		set := Set{dir: dir}
		if err := errors.Join(exists(set.APIServer()), exists(set.Etcd())); err != nil {
			return Set{}, fmt.Errorf("find the programs of %s: %w", assetsVariable, err)
		}
		return set, nil
	}
	module, err := moduleDir(ctx)
	if err != nil {
		return Set{}, err
	}
	source := filepath.Join(module, "controlplane")
	key, err := cacheKey(ctx, source)
	if err != nil {
		return Set{}, err
	}
	set := Set{dir: filepath.Join(module, "..", ".cache", "controlplane", key)}
	if set.complete() {
		return set, nil
	}
	return set, buildInto(ctx, set, source, log)
}

// buildInto builds in a temporary folder and renames it at the end, so that set's folder is never
// incomplete.
func buildInto(ctx context.Context, set Set, source string, log io.Writer) error {
	parent := filepath.Dir(set.dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("create the cache folder of the control plane: %w", err)
	}
	temp, err := os.MkdirTemp(parent, "building-")
	if err != nil {
		return fmt.Errorf("create a folder to build the control plane in: %w", err)
	}
	defer os.RemoveAll(temp) //nolint:errcheck // it was renamed, or is ignored
	if err := buildAll(ctx, temp, source, log); err != nil {
		return err
	}
	if err := os.Rename(temp, set.dir); err != nil && !set.complete() {
		return fmt.Errorf("rename the folder of the control plane: %w", err)
	}
	return nil
}

func buildAll(ctx context.Context, dir, source string, log io.Writer) error {
	version, err := kubernetesVersion(ctx, source)
	if err != nil {
		return err
	}
	for _, p := range programs {
		began := time.Now()
		fmt.Fprintf(log, "building %s (the first time takes minutes)\n", p.pkg)
		_, err := goCommand(ctx, source, "build", "-buildvcs=false", "-trimpath",
			"-ldflags=-s -w "+versionFlags(version), "-o", filepath.Join(dir, p.name), p.pkg)
		if err != nil {
			return fmt.Errorf("build %s: %w", p.name, err)
		}
		fmt.Fprintf(log, "built %s in %s\n", p.name, time.Since(began).Round(time.Second))
	}
	return nil
}

// versionFlags returns the linker flags that make the API server report its release at /version, as
// the released binaries do. Without them it reports v0.0.0-master, and clients that read the
// version behave differently than in production.
func versionFlags(version string) string {
	const in = "-X k8s.io/component-base/version."
	numbers := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return fmt.Sprintf("%[1]sgitVersion=%[2]s %[1]sgitMajor=%[3]s %[1]sgitMinor=%[4]s", in, version, numbers[0], numbers[1])
}
