package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// stopsSoon ends a context and checks that what runs under it ends within a second
// and leaves no goroutine. prior are the goroutines from before it was started.
func stopsSoon(t *testing.T, prior goleak.Option, cancel context.CancelFunc, end func()) {
	t.Helper()
	began := time.Now()
	cancel()
	end()
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %v to end", took)
	}
	goleak.VerifyNone(t, prior)
}

func TestInterrupted(t *testing.T) {
	prior := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	out := newScreenText()
	wait := runAsync(ctx, out, "--nodes", "50")
	out.await(t, func(text string) bool {
		told := countLines(text)
		return told.added >= 50 && told.updated > 0 // the simulation is under way
	})
	stopsSoon(t, prior, cancel, func() {
		if code, stderr := wait(t); code != 0 || stderr != "" {
			t.Errorf("exit code %d and %s", code, stderr)
		}
	})
	if !strings.Contains(out.String(), countLines(out.String()).String()+"; Stopped at ") {
		t.Errorf("the last summary does not say what was told:\n%s", out)
	}
}

func TestInterruptedScreen(t *testing.T) {
	prior := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	out, ended := newScreenText(), make(chan error, 1)
	s := newScreen(out, func() (int, int) { return 80, 24 })
	go func() { ended <- show(ctx, options{nodes: 7, seed: 1}, s) }()
	out.await(t, func(text string) bool { return strings.Contains(text, "7 added") })
	stopsSoon(t, prior, cancel, func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if text := out.String(); strings.Count(text, enterScreen) != 1 || strings.Count(text, leaveScreen) != 1 {
		t.Errorf("the terminal is not as it was: %q", text)
	}
}

// Ctrl-C while the cluster has not answered is no success: nothing was shown.
func TestInterruptedBeforeTheFirstList(t *testing.T) {
	asked := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	config := kubeconfig(t, server.URL)
	for _, args := range [][]string{{"--kubeconfig", config}, {"--kubeconfig", config, "--once"}} {
		ctx, cancel := context.WithCancel(t.Context())
		prior := goleak.IgnoreCurrent()
		wait := runAsync(ctx, newScreenText(), args...)
		<-asked
		server.CloseClientConnections() // so that the server's own goroutines are not counted
		stopsSoon(t, prior, cancel, func() {
			code, stderr := wait(t)
			if want := "nodecache: ended before the nodes of " + server.URL + " were listed\n"; code != 1 || stderr != want {
				t.Errorf("%v: exit code %d and %s", args, code, stderr)
			}
		})
	}
}

func TestDurationThatIsTooShort(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	code, stderr := runAsync(t.Context(), newScreenText(), "--kubeconfig", kubeconfig(t, server.URL), "--duration", "50ms")(t)
	if code != 1 || !strings.Contains(stderr, "ended before") {
		t.Errorf("exit code %d and %s", code, stderr)
	}
}
