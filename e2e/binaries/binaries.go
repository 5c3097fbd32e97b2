package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// modulePath is the module of the end-to-end tests, whose folder ../controlplane lies in. The go command is asked where it
// is, so that another module (the benchmarks) can use this package too.
const modulePath = "github.com/kinformer/kinformer/e2e"

// programs are what is built: the name of the file, and the package of its main function.
var programs = []struct{ name, pkg string }{ //nolint:gochecknoglobals // a table that nothing writes to
	{"etcd", "go.etcd.io/etcd/server/v3"},
	{"etcdutl", "go.etcd.io/etcd/etcdutl/v3"},
	{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"},
}

// Set is a folder that holds every program of the control plane.
type Set struct{ dir string }

// APIServer is the path of kube-apiserver.
func (s Set) APIServer() string { return s.path("kube-apiserver") }

// Etcd is the path of etcd.
func (s Set) Etcd() string { return s.path("etcd") }

// Etcdutl is the path of etcdutl, which restores snapshots.
func (s Set) Etcdutl() string { return s.path("etcdutl") }

// Dir is the folder that the programs are in.
func (s Set) Dir() string { return s.dir }

func (s Set) path(name string) string { return filepath.Join(s.dir, name) }

// complete says whether the programs are there. A folder gets its final name only when all of them are, so looking for the
// folder would do; looking for each also notices a file that somebody removed.
func (s Set) complete() bool {
	for _, p := range programs {
		if _, err := os.Stat(s.path(p.name)); err != nil {
			return false
		}
	}
	return true
}

// Build returns the programs, and builds them first where they are not there, which takes minutes and writes its progress
// to log. Several processes may call it at once: each builds aside, and the first to finish is the one that counts.
func Build(ctx context.Context, log io.Writer) (Set, error) {
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

// buildInto builds beside set's folder and renames at the end, so that nobody sees half of it.
func buildInto(ctx context.Context, set Set, source string, log io.Writer) error {
	parent := filepath.Dir(set.dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("make the cache folder of the control plane: %w", err)
	}
	aside, err := os.MkdirTemp(parent, "building-")
	if err != nil {
		return fmt.Errorf("make a folder to build the control plane in: %w", err)
	}
	defer os.RemoveAll(aside) //nolint:errcheck // it was renamed, or what is left of it does no harm
	if err := buildAll(ctx, aside, source, log); err != nil {
		return err
	}
	if err := os.Rename(aside, set.dir); err != nil && !set.complete() {
		return fmt.Errorf("put the control plane in its place: %w", err)
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

// versionFlags make the API server report its release at /version, as the released binaries do. Without them it says
// v0.0.0-master, and clients that look at the version do something else than they do in production.
func versionFlags(version string) string {
	const in = "-X k8s.io/component-base/version."
	numbers := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return fmt.Sprintf("%[1]sgitVersion=%[2]s %[1]sgitMajor=%[3]s %[1]sgitMinor=%[4]s", in, version, numbers[0], numbers[1])
}
