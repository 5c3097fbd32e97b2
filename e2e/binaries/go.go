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

// moduleDir is the folder of the end-to-end tests' module.
func moduleDir(ctx context.Context) (string, error) {
	dir, err := goCommand(ctx, "", "list", "-m", "-f", "{{.Dir}}", modulePath)
	if err != nil {
		return "", fmt.Errorf("find the folder of module %s: %w", modulePath, err)
	}
	return dir, nil
}

// kubernetesVersion is the release that source pins, such as v1.36.3.
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

// cacheKey names a build: the same key, the same programs.
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
			return "", fmt.Errorf("read what the control plane is built of: %w", err)
		}
		hash.Write(content)
	}
	return fmt.Sprintf("%x", hash.Sum(nil)[:8]), nil
}

// goCommand runs the go command in dir (the current one if empty) and returns what it printed, trimmed. It builds without
// cgo, so that no C compiler is needed, and outside any workspace, whose versions would not be the pinned ones.
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
