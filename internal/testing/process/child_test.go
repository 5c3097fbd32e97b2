// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain runs the tests, or a child process of them.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || !strings.HasPrefix(os.Args[1], "child-") {
		os.Exit(m.Run())
	}
	if err := childMain(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "%v\nsecond line\n", err)
		os.Exit(3)
	}
}

func childMain(job string) error {
	var input string
	switch job {
	case "child-echo":
		if err := ReadInput(os.Stdin, &input); err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(map[string]any{"input": input, "environment": os.Environ()})
	case "child-blocks":
		if err := ReadInput(os.Stdin, &input); err != nil {
			return err
		}
		fmt.Println("started")
		select {}
	case "child-prints":
		fmt.Println("no JSON")
		return nil
	default:
		return errors.New("the job failed")
	}
}

func TestChildGetsInputAndNoOtherEnvironment(t *testing.T) {
	t.Setenv("KUBECONFIG", "/secret")
	var result struct {
		Input       string
		Environment []string
	}
	child := Child{Args: []string{"child-echo"}, Env: []string{"ONLY=this"}, Input: "a job"}
	if err := child.Run(t.Context(), &result); err != nil {
		t.Fatal(err)
	}
	if result.Input != "a job" || len(result.Environment) != 1 || result.Environment[0] != "ONLY=this" {
		t.Errorf("got %+v, want the input and one variable", result)
	}
}

func TestErrorOfChildHasItsFirstLine(t *testing.T) {
	err := Child{Args: []string{"child-fails"}}.Run(t.Context(), new(any))
	if want := "child process: exit status 3: the job failed"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	if err := (Child{Args: []string{"child-prints"}}).Run(t.Context(), new(any)); err == nil || !strings.HasPrefix(err.Error(), "child process: result: ") {
		t.Errorf("error %v, want one of the result", err)
	}
}

func TestChildEndsWithItsContext(t *testing.T) {
	timedOut := errors.New("time limit")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, timedOut)
	defer cancel()
	if err := (Child{Args: []string{"child-blocks"}, Input: ""}).Run(ctx, new(any)); !errors.Is(err, timedOut) {
		t.Errorf("error %v, want %v", err, timedOut)
	}
}

// TestChildEndsWithItsParent closes the pipe as the parent's end does.
func TestChildEndsWithItsParent(t *testing.T) {
	command := exec.CommandContext(t.Context(), os.Args[0], "child-blocks")
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(stdin, "\"job\"\n")
	if n, err := stdout.Read(make([]byte, 100)); n == 0 {
		t.Fatalf("the child process did not start: %v", err)
	}
	_ = stdin.Close()
	_, _ = io.Copy(io.Discard, stdout)
	if err := command.Wait(); err == nil || err.Error() != "exit status 1" {
		t.Errorf("Wait: %v, want exit status 1", err)
	}
}
