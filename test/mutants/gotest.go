package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// overlay writes a changed file and the JSON file that go's -overlay reads into folder, and returns
// the name of the latter.
func overlay(folder, root, file, text string) (string, error) {
	changed := filepath.Join(folder, filepath.Base(file))
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		return "", err
	}
	replace := map[string]string{filepath.Join(root, filepath.FromSlash(file)): changed}
	encoded, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(folder, "overlay.json")
	return name, os.WriteFile(name, encoded, 0o600)
}

// goTest runs the tests of one package with an overlay. It returns the name of the first test that
// fails, or "" if all pass.
func (r *runner) goTest(ctx context.Context, overlay string, tests []string, timeout time.Duration) (killer string, err error) {
	args := []string{"test", "-json", "-vet=off", "-failfast", "-overlay=" + overlay, fmt.Sprintf("-timeout=%s", timeout)}
	if !slices.ContainsFunc(tests, func(arg string) bool { return strings.HasPrefix(arg, "-count=") }) {
		args = append(args, "-count=1")
	}
	args = append(args, tests...)
	if r.rapid[tests[0]] {
		args = append(args, "-rapid.nofailfile")
	}
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = r.root
	command.WaitDelay = time.Minute
	out, err := command.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return "", err
	}
	result := readEvents(string(out))
	switch {
	case result.broken != "":
		return "", fmt.Errorf("does not compile:\n%s", result.broken)
	case err == nil:
		if !result.ran {
			return "", fmt.Errorf("%v: no test ran", tests)
		}
		return "", nil
	case result.killer == "":
		return "", fmt.Errorf("%v:\n%s", err, tail(result.output))
	}
	return result.killer, nil
}

// result is what the events of go test -json say.
type result struct {
	killer string // the first test that failed
	broken string // the compiler's errors
	output string
	ran    bool // at least one test
}

// event is an event of go test -json (go doc test2json).
type event struct{ Action, Test, Output string }

// running finds the test that ran when the process ended by a timeout.
var running = regexp.MustCompile(`running tests:\n\s*(Test\w+|Fuzz\w+)`)

func readEvents(text string) (r result) {
	var output strings.Builder
	scanner := bufio.NewScanner(strings.NewReader(text))
	scanner.Buffer(nil, len(text)+1)
	for scanner.Scan() {
		var e event
		if json.Unmarshal(scanner.Bytes(), &e) != nil {
			continue
		}
		name, _, _ := strings.Cut(e.Test, "/")
		switch {
		case e.Action == "run":
			r.ran = true
		case e.Action == "build-output":
			r.broken += e.Output
		case e.Action == "output":
			output.WriteString(e.Output)
		case e.Action == "fail" && name != "" && r.killer == "":
			r.killer = name
		}
	}
	r.output = output.String()
	if match := running.FindStringSubmatch(r.output); match != nil {
		r.killer = match[1] + " (by its timeout)"
	}
	return r
}

// tail returns the last lines of a long text.
func tail(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// packagesWithRapid returns the packages whose tests import rapid. It writes files when a test fails,
// which a flag that only those packages have prevents.
func packagesWithRapid(ctx context.Context, root string) (map[string]bool, error) {
	list := exec.CommandContext(ctx, "go", "list", "-f", `{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	rapid := make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if slices.Contains(words, "pgregory.net/rapid") {
			rapid["."+strings.TrimPrefix(words[0], module)] = true
		}
	}
	return rapid, nil
}

const module = "github.com/kinformer/kinformer"
