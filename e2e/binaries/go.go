// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// moduleDir returns the folder of the module modulePath.
func moduleDir(ctx context.Context) (string, error) {
	dir, err := goCommand(ctx, "", "list", "-m", "-f", "{{.Dir}}", modulePath)
	if err != nil {
		return "", fmt.Errorf("find the folder of module %s: %w", modulePath, err)
	}
	return dir, nil
}

// kubernetesVersion returns the release that source pins, such as v1.36.3.
func kubernetesVersion(ctx context.Context, source string) (string, error) {
	version, err := goCommand(ctx, source, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	if err == nil && strings.Count(version, ".") != 2 {
		err = fmt.Errorf("%q is not of the form v1.2.3", version)
	}
	if err != nil {
		return "", fmt.Errorf("read the version of Kubernetes: %w", err)
	}
	return version, nil
}

// cacheKey returns the name of a build, a hash of everything it depends on.
func cacheKey(ctx context.Context, source string) (string, error) {
	toolchain, err := goCommand(ctx, source, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return "", fmt.Errorf("read the version of Go: %w", err)
	}
	hash := sha256.New()
	fmt.Fprintln(hash, toolchain, programs)
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return "", fmt.Errorf("read the module of the control plane: %w", err)
		}
		hash.Write(content)
	}
	return fmt.Sprintf("%x", hash.Sum(nil)[:8]), nil
}

// goCommand runs the go command in dir, or in the current folder if dir is empty, and returns its
// trimmed output. It disables cgo, so that no C compiler is needed, and workspaces, which could
// replace the pinned versions.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
