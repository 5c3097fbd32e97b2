// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kinformer/kinformer/internal/terminal/terminaltest"
)

// checkShutdown cancels a context and checks that wait returns within a second and that no
// goroutine is left. prior ignores the goroutines that already ran before.
func checkShutdown(t *testing.T, prior goleak.Option, cancel context.CancelFunc, wait func()) {
	t.Helper()
	began := time.Now()
	cancel()
	wait()
	if took := time.Since(began); took > time.Second {
		t.Errorf("shutdown took %v, want at most 1s", took)
	}
	goleak.VerifyNone(t, prior)
}

func TestInterruptEndsProgram(t *testing.T) {
	prior := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	out := terminaltest.NewOutput()
	wait := runAsync(ctx, out, "--nodes", "50")
	out.WaitFor(t, func(text string) bool {
		printed := countLines(text)
		return printed.Added >= 50 && printed.Updated > 0 // the simulation has started
	})
	checkShutdown(t, prior, cancel, func() {
		if code, stderr := wait(t); code != 0 || stderr != "" {
			t.Errorf("got exit code %d and %s", code, stderr)
		}
	})
	if !strings.Contains(out.String(), countLines(out.String()).String()+"; Stopped at ") {
		t.Errorf("final summary does not count the printed events:\n%s", out)
	}
}

// An interrupt before the nodes are listed is an error, because nothing was shown.
func TestInterruptBeforeFirstListIsAnError(t *testing.T) {
	requested := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requested <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	config := kubeconfigFile(t, server.URL)
	for _, args := range [][]string{{"--kubeconfig", config}, {"--kubeconfig", config, "--once"}} {
		ctx, cancel := context.WithCancel(t.Context())
		prior := goleak.IgnoreCurrent()
		wait := runAsync(ctx, terminaltest.NewOutput(), args...)
		<-requested
		server.CloseClientConnections() // ends the server's goroutines, which goleak would report
		checkShutdown(t, prior, cancel, func() {
			code, stderr := wait(t)
			if want := "nodecache: stopped before the nodes of " + server.URL + " were listed\n"; code != 1 || stderr != want {
				t.Errorf("%v: got exit code %d and %s", args, code, stderr)
			}
		})
	}
}

func TestDurationEndingBeforeFirstListIsAnError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	code, stderr := runAsync(t.Context(), terminaltest.NewOutput(), "--kubeconfig", kubeconfigFile(t, server.URL), "--duration", "50ms")(t)
	if code != 1 || !strings.Contains(stderr, "stopped before") {
		t.Errorf("got exit code %d and %s", code, stderr)
	}
}
