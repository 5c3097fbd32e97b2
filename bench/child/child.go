// Package child runs an informer in a child process and measures what it costs. In a process that
// ran two informers, neither peak memory nor the garbage collector's CPU could be attributed to one
// of them.
package child

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// Arg is the first argument of a child process. The program must then call Main with the others.
const Arg = "child"

// Main runs a child process and writes the result in JSON.
func Main(args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == footprintArg {
		return footprintMain(args[1:], out)
	}
	return syncMain(args, out)
}

// run runs this program as a child process and reads its result. watchList enables client-go's
// feature gate WatchListClient.
func run(ctx context.Context, watchList bool, result any, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, self, append([]string{Arg}, args...)...)
	command.Env = append(os.Environ(), "KUBE_FEATURE_WatchListClient="+strconv.FormatBool(watchList))
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("child process: %w", err)
	}
	return json.Unmarshal(out, result)
}

// Server is the address of the server of the objects. Over plain HTTP only the URL is needed.
type Server struct {
	URL    string
	CAFile string
	Token  string
}

// config returns the configuration of a client without rate limit that prefers protobuf.
func (s Server) config() *rest.Config {
	return &rest.Config{
		Host: s.URL, BearerToken: s.Token, TLSClientConfig: rest.TLSClientConfig{CAFile: s.CAFile}, QPS: -1, Timeout: time.Hour,
		ContentConfig: rest.ContentConfig{
			ContentType: "application/vnd.kubernetes.protobuf", AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
		},
	}
}

// poll waits until a condition holds. It checks often, but not so often that it affects the CPU
// time that is measured.
func poll(ctx context.Context, condition func() bool) error {
	return pollEvery(ctx, 2*time.Millisecond, condition)
}

func pollEvery(ctx context.Context, period time.Duration, condition func() bool) error {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}

// processMemory returns a field of /proc/self/status in bytes.
func processMemory(field string) (float64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kilobytes * 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no %s", field)
}
